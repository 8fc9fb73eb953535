#![allow(
    clippy::unwrap_used,
    reason = "a failed expectation is the test failing"
)]

use proptest::prelude::*;

use super::*;

fn template(text: &str) -> UriTemplate {
    UriTemplate::parse(text).unwrap()
}

fn values(pairs: &[(&str, &str)]) -> Variables {
    let owned = |(name, value): &(&str, &str)| (String::from(*name), String::from(*value));
    pairs.iter().map(owned).collect()
}

/// The examples of RFC 6570, sections 1.2 and 3.2, without lists and maps.
#[test]
fn expansion_follows_the_examples_of_the_rfc() {
    let known = values(&[
        ("var", "value"),
        ("hello", "Hello World!"),
        ("half", "50%"),
        ("base", "http://example.com/home/"),
        ("path", "/foo/bar"),
        ("who", "fred"),
        ("dub", "me/too"),
        ("v", "6"),
        ("x", "1024"),
        ("y", "768"),
        ("empty", ""),
    ]);
    for (text, uri) in [
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{half}", "50%25"),
        ("O{empty}X", "OX"),
        ("O{undef}X", "OX"),
        ("{x,y}", "1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("?{x,empty}", "?1024,"),
        ("?{x,undef}", "?1024"),
        ("?{undef,y}", "?768"),
        ("{+var}", "value"),
        ("{+hello}", "Hello%20World!"),
        ("{+half}", "50%25"),
        ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
        ("{+base}index", "http://example.com/home/index"),
        ("{+path}/here", "/foo/bar/here"),
        ("here?ref={+path}", "here?ref=/foo/bar"),
        ("up{+path}{var}/here", "up/foo/barvalue/here"),
        ("{+x,hello,y}", "1024,Hello%20World!,768"),
        ("{#var}", "#value"),
        ("{#hello}", "#Hello%20World!"),
        ("foo{#empty}", "foo#"),
        ("foo{#undef}", "foo"),
        ("{#x,hello,y}", "#1024,Hello%20World!,768"),
        ("{.who}", ".fred"),
        ("{.half,who}", ".50%25.fred"),
        ("X{.empty}", "X."),
        ("X{.undef}", "X"),
        ("{/who}", "/fred"),
        ("{/who,dub}", "/fred/me%2Ftoo"),
        ("{/var,empty}", "/value/"),
        ("{/var,undef}", "/value"),
        ("{;who}", ";who=fred"),
        ("{;empty}", ";empty"),
        ("{;v,empty,who}", ";v=6;empty;who=fred"),
        ("{;x,y,undef}", ";x=1024;y=768"),
        ("{?who}", "?who=fred"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("{?x,y,undef}", "?x=1024&y=768"),
        ("{&who}", "&who=fred"),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{&x,y,empty}", "&x=1024&y=768&empty="),
    ] {
        assert_eq!(template(text).expand(&known), uri, "{text}");
    }
}

/// B128, B130.
#[test]
fn a_uri_matches_when_the_template_could_have_made_it() {
    for (text, uri, found) in [
        ("notes://{id}", "notes://7", Some(&[("id", "7")][..])),
        ("notes://{id}", "notes://", None),
        ("notes://{id}", "notes://a/b", None),
        ("notes://{id}", "notes://a?b", None),
        ("notes://{id}", "notes://a%2Fb", Some(&[("id", "a/b")])),
        ("notes://{id}", "Xnotes://a", None),
        ("notes://{id}", "notes://%ff", None),
        (
            "notes://{id}/raw",
            "notes://raw/raw",
            Some(&[("id", "raw")]),
        ),
        ("notes://{id}/raw", "notes://1/raw/raw", None),
        ("a{x}b{y}c", "aabbbcc", Some(&[("x", "a"), ("y", "bbc")])),
        ("file:///{+path}", "file:///a/b", Some(&[("path", "a/b")])),
        ("file:///{+path}", "file:///", None),
        // The first `x` that leaves a name without a slash is not the first `x`.
        (
            "f:{+dir}x{name}",
            "f:p/xq/xr",
            Some(&[("dir", "p/xq/"), ("name", "r")]),
        ),
        ("acme://products{?page,limit}", "acme://products", Some(&[])),
        (
            "acme://products{?page,limit}",
            "acme://products?limit=5",
            Some(&[("limit", "5")]),
        ),
        (
            "acme://products{?page,limit}",
            "acme://products?limit=5&page=2",
            Some(&[("limit", "5"), ("page", "2")]),
        ),
        (
            "acme://products{?page,limit}",
            "acme://products?offset=5",
            None,
        ),
        (
            "acme://products{?page,limit}",
            "acme://products?page=1&page=2",
            None,
        ),
        ("acme://products{?page,limit}", "acme://productsX", None),
        ("x://s?q={q}", "x://s?q=a%20b", Some(&[("q", "a b")])),
        (
            "x://s?q={q}{&page}",
            "x://s?q=a&page=3",
            Some(&[("q", "a"), ("page", "3")]),
        ),
        ("x://s?q={q}{&page}", "x://s?q=a", Some(&[("q", "a")])),
        ("x://a{/b,c}", "x://a", Some(&[])),
        ("x://a{/b,c}", "x://a/1/2", Some(&[("b", "1"), ("c", "2")])),
        ("x://a{/b,c}", "x://a/1/2/3", None),
        ("x://a{/b}", "x://a/1", Some(&[("b", "1")])),
        ("x://a{/b}/end", "x://a/end", Some(&[])),
        ("x://a{/b}/end", "x://a/1/end", Some(&[("b", "1")])),
        ("x://f{.ext}", "x://f.tar.gz", Some(&[("ext", "tar.gz")])),
        ("x://f{#part}", "x://f#a/b?c", Some(&[("part", "a/b?c")])),
        ("x://f{#part}", "x://f", Some(&[])),
        ("x://f{;v,w}", "x://f;w=2;v", Some(&[("w", "2"), ("v", "")])),
        ("x://{a,b}", "x://1,2", Some(&[("a", "1"), ("b", "2")])),
        ("x://{a,b}", "x://1,2,3", None),
        (
            "file:///my docs/café/{name}",
            "file:///my docs/café/n",
            Some(&[("name", "n")]),
        ),
        (
            "file:///my docs/café/{name}",
            "file:///my%20docs/caf%c3%a9/n",
            Some(&[("name", "n")]),
        ),
        ("notes://{id}", "notes://日本", Some(&[("id", "日本")])),
        ("notes://%7Eme/{id}", "notes://~me/1", Some(&[("id", "1")])),
        // Values end and begin between characters, however those are encoded.
        ("x://{a}{b}", "x://%C3%A9x", Some(&[("a", "é"), ("b", "x")])),
        ("x://{a}%80", "x://%C3%A9%80", Some(&[("a", "é")])),
        // The names say which pairs belong to an expression.
        (
            "x://s{;a}{;b}",
            "x://s;a=1;b=2",
            Some(&[("a", "1"), ("b", "2")]),
        ),
        (
            "x://s{?a}{?b}",
            "x://s?a=1?b=2",
            Some(&[("a", "1"), ("b", "2")]),
        ),
        (
            "file:///{+path}{?page}",
            "file:///a?x=1",
            Some(&[("path", "a?x=1")]),
        ),
        (
            "file:///{+path}{?page}",
            "file:///a?page=1",
            Some(&[("path", "a"), ("page", "1")]),
        ),
        // And so does their number.
        (
            "x:/{/a}{/b,c}",
            "x://1/2/3",
            Some(&[("a", "1"), ("b", "2"), ("c", "3")]),
        ),
        (
            "x://{a,b}x{c,d}",
            "x://1x1,2x3,4",
            Some(&[("a", "1x1"), ("b", "2"), ("c", "3"), ("d", "4")]),
        ),
        ("x://s{?%61}", "x://s?a=1", Some(&[("%61", "1")])),
        ("plain://text", "plain://text", Some(&[])),
        ("plain://text", "plain://text2", None),
    ] {
        let found: Option<Variables> = found.map(values);
        assert_eq!(template(text).matches(uri), found, "{text} and {uri}");
    }
}

#[test]
fn what_is_no_template_says_where() {
    use UriTemplateError as Error;
    for (text, error) in [
        ("", Error::Length),
        ("a{b", Error::Brace(1)),
        ("a}b", Error::Brace(1)),
        ("a{b{c}}", Error::Variable(1)),
        ("a{}", Error::Variable(1)),
        ("a{?}", Error::Variable(1)),
        ("a{b c}", Error::Variable(1)),
        ("a{b,}", Error::Variable(1)),
        ("a{.b..c}", Error::Variable(1)),
        ("a{b%}", Error::Variable(1)),
        ("a{b*}", Error::Modifier(1)),
        ("a{b:3}", Error::Modifier(1)),
        ("a{=b}", Error::Operator(2)),
        ("{a}/{a}", Error::Repeated(4)),
        ("{?a,a}", Error::Repeated(0)),
        ("{a}{?%61}", Error::Repeated(3)),
    ] {
        assert_eq!(UriTemplate::parse(text), Err(error), "{text}");
    }
    let long = "a".repeat(MAX_TEMPLATE_BYTES + 1);
    assert_eq!(UriTemplate::parse(&long), Err(Error::Length));
    let many: String = (0..=MAX_PARTS).map(|at| format!("{{v{at}}}")).collect();
    assert_eq!(UriTemplate::parse(&many), Err(Error::TooManyParts));
}

#[test]
fn an_overlong_uri_matches_nothing_and_a_hard_one_ends_soon() {
    let greedy = template("{+a}x{+b}x{+c}x{+d}x{+e}x{+f}y");
    assert_eq!(greedy.matches(&"x".repeat(MAX_URI_BYTES + 1)), None);
    let started = std::time::Instant::now();
    assert_eq!(greedy.matches(&"x".repeat(MAX_URI_BYTES)), None);
    assert!(started.elapsed() < std::time::Duration::from_secs(1));
}

#[test]
fn the_more_specific_template_is_asked_first() {
    let mut templates = [
        template("file:///{+path}"),
        template("file:///{name}"),
        template("file:///docs/{name}"),
        template("file:///docs/{name}{?page}"),
    ];
    templates.sort_by_key(|template| std::cmp::Reverse(template.specificity()));
    let order: Vec<&str> = templates.iter().map(UriTemplate::as_str).collect();
    assert_eq!(
        order,
        [
            "file:///docs/{name}",
            "file:///docs/{name}{?page}",
            "file:///{name}",
            "file:///{+path}",
        ]
    );
}

proptest! {
    #[test]
    fn expanded_values_come_back(
        id in ".{1,20}",
        name in ".{1,20}",
        page in proptest::option::of(".{0,10}"),
        part in proptest::option::of("[a-z/?]{0,10}"),
        dir in "[a-z/]{1,12}",
    ) {
        let template = template("x://{+dir}/d/{id}/n/{name}{?page}{#part}");
        let mut wanted = values(&[("dir", &dir), ("id", &id), ("name", &name)]);
        wanted.extend(page.map(|page| ("page".to_owned(), page)));
        wanted.extend(part.map(|part| ("part".to_owned(), part)));
        let uri = template.expand(&wanted);
        let found = template.matches(&uri);
        // `dir` may hold `/d/x/n/` itself; any reading must give the same URI again.
        let found = found.unwrap();
        prop_assert_eq!(template.expand(&found), &uri[..]);
        if !dir.contains("/d/") {
            prop_assert_eq!(found, wanted);
        }
    }

    #[test]
    fn each_operator_gives_its_value_back(value in ".{1,24}") {
        for text in ["{v}", "x{/v}", "x{.v}", "x{;v}", "x{?v}", "x?a=b{&v}", "a{v}b"] {
            let template = template(text);
            let wanted = values(&[("v", &value)]);
            prop_assert_eq!(template.matches(&template.expand(&wanted)), Some(wanted));
        }
        let free = value.replace('%', "");
        prop_assume!(!free.is_empty());
        for text in ["{+v}", "x{#v}"] {
            let template = template(text);
            let wanted = values(&[("v", &free)]);
            prop_assert_eq!(template.matches(&template.expand(&wanted)), Some(wanted));
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,60}", uri in ".{0,60}") {
        if let Ok(template) = UriTemplate::parse(&text)
            && let Some(found) = template.matches(&uri)
        {
            let _ = template.expand(&found);
        }
        prop_assert_eq!(normalize(&normalize(&uri)), normalize(&uri));
    }
}
