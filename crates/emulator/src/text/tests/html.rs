//! The `HTML` markup.

use super::super::ParseMode;

fn becomes(source: &str, text: &str, entities: &str) {
    super::becomes(ParseMode::Html, source, text, entities);
}

fn fails(source: &str, complaint: &str) {
    super::fails(ParseMode::Html, source, complaint);
}

#[test]
fn every_tag_has_its_meaning() {
    for tag in ["b", "strong"] {
        becomes(&format!("<{tag}>x</{tag}>"), "x", "bold 0+1");
    }
    for tag in ["i", "em"] {
        becomes(&format!("<{tag}>x</{tag}>"), "x", "italic 0+1");
    }
    for tag in ["u", "ins"] {
        becomes(&format!("<{tag}>x</{tag}>"), "x", "underline 0+1");
    }
    for tag in ["s", "strike", "del"] {
        becomes(&format!("<{tag}>x</{tag}>"), "x", "strikethrough 0+1");
    }
    becomes("<tg-spoiler>x</tg-spoiler>", "x", "spoiler 0+1");
    becomes("<span class=\"tg-spoiler\">x</span>", "x", "spoiler 0+1");
    becomes("<code>x</code>", "x", "code 0+1");
    becomes("<pre>x</pre>", "x", "pre 0+1");
    becomes("<blockquote>x</blockquote>", "x", "blockquote 0+1");
    becomes("<blockquote expandable>x</blockquote>", "x", "expandable_blockquote 0+1");
    becomes("<blockquote expandable=''>x</blockquote>", "x", "expandable_blockquote 0+1");
    becomes("<tg-emoji emoji-id=\"5368324170671202286\">👍</tg-emoji>", "👍", "custom_emoji 0+2 5368324170671202286");
    becomes("<tg-time unix=\"1647531900\" format=\"wDT\">x</tg-time>", "x", "date_time 0+1 1647531900 wDT");
    becomes("<tg-time unix=1647531900 format=Tdw>x</tg-time>", "x", "date_time 0+1 1647531900 wdt");
    becomes("<tg-time unix=\"0\">x</tg-time>", "x", "");
}

#[test]
fn links_are_completed_and_people_are_mentioned() {
    becomes("<a href=\"http://www.example.com/\">x</a>", "x", "text_link 0+1 http://www.example.com/");
    becomes(
        "<a href='https://Example.com:08443/A?b=c d'>x</a>",
        "x",
        "text_link 0+1 https://example.com:8443/A?b=c%20d",
    );
    becomes("<a href=\"example.com?a=1&amp;b=2\">x</a>", "x", "text_link 0+1 http://example.com/?a=1&b=2");
    becomes("<a href=example.com>x</a>", "x", "text_link 0+1 http://example.com/");
    becomes("<a>example.com</a>", "example.com", "text_link 0+11 http://example.com/");
    becomes("<a href=\"tg://user?id=123\">x</a>", "x", "text_mention 0+1 123");
    becomes("<a href=\"TG:user/?x=1&id=123#f\">x</a>", "x", "text_mention 0+1 123");
    becomes("<a href=\"tg://user?id=0123\">x</a>", "x", "text_link 0+1 tg://user?id=0123");
    becomes("<a href=\"tg://resolve?domain=x\">x</a>", "x", "text_link 0+1 tg://resolve?domain=x");
    becomes("<a href=\"http://[::1]/\">x</a>", "x", "text_link 0+1 http://[::1]/");
    for no_link in ["nowhere", "ftp://a.b/", "http://a.b:99999/", "http://a b.c/", "http://a%zz.b/", "http:///x", ""] {
        becomes(&format!("<a href=\"{no_link}\">x</a>"), "x", "");
    }
}

#[test]
fn code_in_a_language_may_be_nested_either_way() {
    becomes("<pre><code class=\"language-c++\">x</code></pre>", "x", "pre 0+1 c++");
    becomes("<code class=\"language-c\"><pre>x</pre></code>", "x", "pre 0+1 c");
    becomes("<pre><code>x</code></pre>", "x", "pre 0+1");
    becomes("<pre>a<code class=\"language-c\">x</code></pre>", "ax", "pre 0+2");
    becomes("<code class=\"language-c\">x</code>", "x", "code 0+1");
    becomes("<code class=\"other\">x</code>", "x", "code 0+1");
}

#[test]
fn references_are_decoded() {
    becomes("&lt;&gt;&amp;&quot;", "<>&\"", "");
    becomes("&lt b&gt", "< b>", "");
    becomes("&#1087;&#x43f;&#128077;", "пп👍", "");
    becomes("&nbsp;&apos;&LT;&;&", "&nbsp;&apos;&LT;&;&", "");
    becomes("&#0;&#x110000;&#00000000065;&#;&#x;", "&#0;&#x110000;&#00000000065;&#;&#x;", "");
    becomes("<b>&#128077;</b>x<i>&lt;</i>", "👍x<", "bold 0+2, italic 3+1");
    let complaint = "Text contains invalid Unicode characters after decoding HTML entities, check for unmatched \
                     surrogate code units";
    fails("&#xD83D;", complaint);
}

#[test]
fn places_count_utf16_units() {
    becomes("Привет, <b>мир</b> 👨‍👩‍👧 <i>да</i>", "Привет, мир 👨‍👩‍👧 да", "bold 8+3, italic 21+2");
}

#[test]
fn tags_are_read_in_any_case_and_with_blanks() {
    becomes("<B >x</B\n>", "x", "bold 0+1");
    becomes("<b>x</>", "x", "bold 0+1");
    becomes("<b any other='x' thing=5>x</b>", "x", "bold 0+1");
    becomes("<a\thref = \"a.b\"title=''>x</a>", "x", "text_link 0+1 http://a.b/");
}

#[test]
fn empty_tags_leave_nothing() {
    becomes("a<b></b>c", "ac", "");
    becomes("<b><i></i></b>", "", "");
    becomes("<tg-emoji emoji-id='no'></tg-emoji>", "", "");
}

#[test]
fn styles_nest_and_are_cut_where_another_begins() {
    becomes("<b><i>x</i></b>", "x", "bold 0+1, italic 0+1");
    becomes("<b>ab<i>cd</i>ef</b>", "abcdef", "bold 0+2, bold 2+4, italic 2+2");
    becomes("<b>a</b><b>b</b>", "ab", "bold 0+2");
    becomes("<b>a<a href='a.b'>b</a>c</b>", "abc", "bold 0+1, text_link 1+1 http://a.b/, bold 1+1, bold 2+1");
    becomes("<b>a<code>b</code>c</b>", "abc", "bold 0+1, code 1+1, bold 2+1");
    becomes("<a href='a.b'>x<code>y</code></a>", "xy", "text_link 0+2 http://a.b/");
    becomes("<blockquote>a<b>b</b></blockquote>", "ab", "blockquote 0+2, bold 1+1");
    becomes("<blockquote>a<blockquote>b</blockquote></blockquote>", "ab", "blockquote 0+2");
}

#[test]
fn every_complaint_is_telegrams() {
    fails("a\0b", "Text must not contain null bytes");
    fails("ab <foo>x</foo>", "Unsupported start tag \"foo\" at byte offset 3");
    fails("ж<BR/>", "Unsupported start tag \"br/\" at byte offset 2");
    fails("1 < 2 > 3", "Unsupported start tag \"\" at byte offset 2");
    fails("a<b", "Unclosed start tag at byte offset 1");
    fails("a<b x", "Unclosed start tag \"b\" at byte offset 1");
    fails("a<b x=", "Unclosed start tag \"b\" at byte offset 1");
    fails("a<a href=\"x", "Unclosed start tag at byte offset 1");
    fails("a<a href=x", "Unclosed start tag at byte offset 1");
    fails("a<b ", "Empty attribute name in the tag \"b\" at byte offset 1");
    fails("<b />", "Empty attribute name in the tag \"b\" at byte offset 0");
    fails("<a href=http://a.b>x</a>", "Unexpected end of name token at byte offset 8");
    fails("<span>x</span>", "Tag \"span\" must have class \"tg-spoiler\" at byte offset 0");
    fails("x</b>", "Unexpected end tag at byte offset 1");
    fails("<b>x</b", "Unclosed end tag at byte offset 4");
    fails("<b>x</b c>", "Unclosed end tag at byte offset 4");
    fails("<b>x</i>", "Unmatched end tag at byte offset 4, expected \"</b>\", found \"</i>\"");
    fails("<b><i>x</b></i>", "Unmatched end tag at byte offset 7, expected \"</i>\", found \"</b>\"");
    fails("<b><i>x</i>", "Can't find end tag corresponding to start tag \"b\"");
    fails("<tg-emoji emoji-id='0'>x</tg-emoji>", "Invalid custom emoji identifier specified");
    fails("<tg-emoji>x</tg-emoji>", "Invalid custom emoji identifier specified");
    fails("<tg-time unix='5' format='x'>x</tg-time>", "Invalid date format used");
}
