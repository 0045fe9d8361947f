//! Which steps a test run has, in which order, and what each needs before it.
//!
//! Cheap checks come first. `--only` selects steps and the steps they need; `--skip` overrides it.

use std::collections::BTreeSet;

use clap::ValueEnum;

/// The order here is the order of the run.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, ValueEnum)]
pub(crate) enum Step {
    /// Rules of this repository that the compiler does not check
    Tidy,
    /// rustfmt, checking only
    Fmt,
    /// Licences, versions and sources of the dependencies
    Dependencies,
    /// cargo-nextest, installed if missing
    Tools,
    /// System packages, installed if missing
    Packages,
    /// The Python client libraries, and an S3 server
    Python,
    /// The JavaScript client libraries
    Node,
    /// The teloxide test bot
    Teloxide,
    /// A private Redis and PostgreSQL
    Servers,
    /// Compiles the tests
    Build,
    /// All tests but the doctests
    Tests,
    /// Lints, warnings denied
    Clippy,
    /// The documentation builds without warnings, and its examples run
    Docs,
}

impl Step {
    fn needs(self) -> &'static [Step] {
        match self {
            Step::Python | Step::Node | Step::Servers => &[Step::Packages],
            Step::Build => &[Step::Tools],
            Step::Tests => {
                &[Step::Tools, Step::Packages, Step::Python, Step::Node, Step::Teloxide, Step::Servers, Step::Build]
            }
            _ => &[],
        }
    }

    /// The step that this one runs beside, if that is part of the run. Installing mostly waits for the network, and
    /// tests mostly wait.
    pub(crate) fn runs_beside(self) -> Option<Step> {
        match self {
            Step::Python | Step::Node => Some(Step::Build),
            Step::Clippy | Step::Docs => Some(Step::Tests),
            _ => None,
        }
    }

    /// The name on the command line and in the summary.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// The line of the help text.
    pub(crate) fn purpose(self) -> String {
        self.to_possible_value().and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default()
    }
}

/// The steps of a run, in order. An empty `only` means all of them.
pub(crate) fn steps(only: &[Step], skip: &[Step]) -> BTreeSet<Step> {
    let wanted = if only.is_empty() { Step::value_variants() } else { only };
    let mut chosen = BTreeSet::new();
    let mut open: Vec<Step> = wanted.to_vec();
    while let Some(step) = open.pop() {
        if !skip.contains(&step) && chosen.insert(step) {
            open.extend(step.needs());
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_choice_every_step_runs_and_tidy_is_first() {
        let all = steps(&[], &[]);
        assert_eq!(all.len(), Step::value_variants().len());
        assert_eq!(all.first(), Some(&Step::Tidy));
    }

    #[test]
    fn a_chosen_step_brings_what_it_needs() {
        let chosen: Vec<_> = steps(&[Step::Servers], &[]).into_iter().collect();
        assert_eq!(chosen, [Step::Packages, Step::Servers]);
    }

    #[test]
    fn a_skipped_step_does_not_run_even_if_needed() {
        let chosen: Vec<_> = steps(&[Step::Node], &[Step::Packages]).into_iter().collect();
        assert_eq!(chosen, [Step::Node]);
    }

    #[test]
    fn what_a_step_needs_runs_before_it() {
        for step in Step::value_variants() {
            assert!(step.needs().iter().all(|needed| needed < step), "{}", step.name());
        }
    }

    #[test]
    fn every_step_has_a_name_and_a_purpose() {
        for step in Step::value_variants() {
            assert!(!step.name().is_empty() && !step.purpose().is_empty(), "{step:?}");
        }
    }
}
