//! Notations that people paste, and texts that are no position.

use proptest::prelude::*;

use super::*;

const MOSCOW: Position = Position { latitude: 55.7558, longitude: 37.6173 };

fn is_moscow(text: &str) {
    let found = read_position(text).unwrap_or_else(|why| panic!("{text}: {why:?}"));
    assert!(found.distance_m(MOSCOW) < 40, "{text}: {found:?}");
}

#[test]
fn common_notations_are_understood() {
    for text in [
        "55.7558, 37.6173",
        "55.7558,37.6173",
        "55.7558 37.6173",
        " 55.7558;37.6173 ",
        "55,7558 37,6173",
        "55,7558, 37,6173",
        "55,7558,37,6173",
        "55,7558; 37,6173",
        "(55.7558, 37.6173)",
        "55.7558N 37.6173E",
        "55.7558° N, 37.6173° E",
        "N55.7558 E37.6173",
        "E 37.6173, N 55.7558",
        "37.6173E 55.7558N",
        "55.7558°, 37.6173°",
        "55°45'21\"N 37°37'2\"E",
        "55°45′20.9″N, 37°37′2.3″E",
        "55° 45′ 20,9″ с. ш. 37° 37′ 2,3″ в. д.",
        "55°45′21″ с.ш., 37°37′02″ в.д.",
        "55 45 21 N 37 37 2 E",
        "N 55 45.348 E 37 37.038",
        "55°45.348' 37°37.038'",
        "55,7558 с.ш. 37,6173 в.д.",
        "55.7558 сш 37.6173 вд",
        "широта 55.7558, долгота 37.6173",
        "lat: 55.7558, lng: 37.6173",
        "lon=37.6173 lat=55.7558",
    ] {
        is_moscow(text);
    }
}

#[test]
fn the_south_and_the_west_are_negative() {
    let rio = Position { latitude: -22.9068, longitude: -43.1729 };
    for text in [
        "-22.9068, -43.1729",
        "−22,9068 −43,1729",
        "22.9068 S 43.1729 W",
        "22,9068 ю.ш. 43,1729 з.д.",
        "22°54′24″S 43°10′22″W",
    ] {
        assert!(read_position(text).unwrap().distance_m(rio) < 40, "{text}");
    }
}

#[test]
fn links_of_maps_are_understood() {
    for link in [
        "https://yandex.ru/maps/213/moscow/?ll=37.6173%2C55.7558&z=16",
        "https://yandex.ru/maps/?ll=30.1,59.9&pt=37.6173,55.7558&z=17",
        "https://yandex.ru/maps/?whatshere%5Bpoint%5D=37.6173%2C55.7558&ll=30.0%2C59.0",
        "https://yandex.com/maps/?text=55.7558,37.6173",
        "yandex.ru/maps/?ll=37.6173,55.7558",
        "https://www.google.com/maps/@55.7558,37.6173,17z",
        "https://www.google.ru/maps/place/Red+Square/@55.70,37.60,17z/data=!3m1!4b1!4m5!3m4!8m2!3d55.7558!4d37.6173",
        "https://maps.google.com/?q=55.7558,37.6173",
        "https://www.google.com/maps/search/?api=1&query=55.7558%2C37.6173",
        "https://www.google.com/maps/place/55.7558,37.6173",
        "https://www.google.com/maps/search/55.7558,+37.6173?entry=tts",
        "https://www.openstreetmap.org/#map=18/55.7558/37.6173",
        "https://www.openstreetmap.org/?mlat=55.7558&mlon=37.6173#map=10/50.0/30.0",
        "https://2gis.ru/moscow?m=37.6173%2C55.7558%2F17",
        "https://2gis.ru/moscow/geo/4504235282750580/37.6173%2C55.7558?m=30.0,59.0/12",
        "https://maps.apple.com/?ll=55.7558,37.6173&q=Office",
        "geo:55.7558,37.6173",
        "GEO:55.7558,37.6173;u=35?z=17",
        "geo:0,0?q=55.7558,37.6173(Office)",
        "HTTPS://yandex.ru/maps/?ll=37.6173,55.7558",
    ] {
        is_moscow(link);
    }
}

#[test]
fn a_short_link_has_a_reason_of_its_own() {
    for link in [
        "https://maps.app.goo.gl/AbCdEf",
        "https://yandex.ru/maps/-/CDe4fG",
        "https://go.2gis.com/abcde",
        "https://osm.org/go/0ZhXBz",
        "goo.gl/maps/xyz",
    ] {
        assert_eq!(read_position(link), Err(PositionMistake::ShortLink), "{link}");
    }
    for link in ["https://example.org/?q=55.7,37.6", "https://yandex.ru/maps/", "geo:here"] {
        assert_eq!(read_position(link), Err(PositionMistake::LinkWithoutPosition), "{link}");
    }
}

#[test]
fn what_is_no_position_is_refused() {
    for text in [
        "",
        " ",
        "here",
        "55",
        "55,75",
        "55.7558",
        "91, 0",
        "0, 181",
        "55.7 37.6 10",
        "55 N 37 N",
        "55°99′ 37°10′",
        "Ленина, 1",
        "55.7558 X 37.6173",
        "1e5, 2",
        "N E",
        "°°",
        "--5, 3",
    ] {
        assert_eq!(read_position(text), Err(PositionMistake::NotUnderstood), "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_breaks_the_parser(text in "\\PC{0,60}") {
        let _ = read_position(&text);
    }

    #[test]
    fn no_link_breaks_the_parser(host in "(yandex\\.ru|google\\.com|2gis\\.ru|osm\\.org|geo:)", rest in "[-/?&#=@!%,.0-9a-zй]{0,60}") {
        let _ = read_position(&format!("https://{host}{rest}"));
        let _ = read_position(&format!("{host}{rest}"));
    }

    #[test]
    fn coordinates_of_any_sort_do_not_break_the_parser(text in "[-0-9., °'\"NSEWсюв;]{0,40}") {
        if let Ok(found) = read_position(&text) {
            prop_assert!(found.is_on_earth());
        }
    }

    #[test]
    fn written_coordinates_are_read_back(latitude in -90.0..90.0, longitude in -180.0..180.0) {
        let at = position(latitude, longitude).unwrap();
        for text in [format!("{}, {}", at.latitude, at.longitude), format!("geo:{},{}", at.latitude, at.longitude)] {
            prop_assert_eq!(read_position(&text), Ok(at));
        }
    }
}
