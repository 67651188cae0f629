//! The examples of the documentation (<https://learn.microsoft.com/cosmos-db/query/functions>), and edges.

use super::{
    super::functions::FUNCTIONS, Json, Prepared, check_refused, check_value, check_values,
};

pub(super) fn names() -> impl Iterator<Item = (&'static str, usize, usize)> {
    FUNCTIONS.iter().map(|function| (function.name, function.least, function.most))
}

#[test]
fn functions_of_numbers() {
    check_values(
        r"
        [ABS(-1), ABS('x'), ABS(null)] => [1]
        [CEILING(123.45), FLOOR(-123.45), TRUNC(-2.7), SIGN(-2), SIGN(0)] => [124, -124, -2, -1, 0]
        [ROUND(2.5), ROUND(-2.6), ROUND(2.4567, 2), ROUND(1234.5, -2)] => [3, -3, 2.46, 1200]
        [LOG(8, 2), LOG10(100), LOG(EXP(1)), SQRT(9), SQUARE(3), POWER(2, 10)] => [3, 2, 1, 3, 9, 1024]
        [SQRT(-1), LOG(0), 1 / 0, POWER(10, 1000), COT(0)] => []
        [NUMBERBIN(37.752, 10), NUMBERBIN(37.752), NUMBERBIN(-1, 5), NUMBERBIN(1, 0)] => [30, 37, -5]
        [DEGREES(PI()), RADIANS(180) = PI(), SIN(0), COS(0), ATN2(0, 1)] => [180, true, 0, 1, 0]
        [INTADD(20, 10), INTADD(1, 0.5), INTDIV(7, 2), INTDIV(1, 0), INTMOD(-7, 3)] => [30, 3, -1]
        [INTBITLEFTSHIFT(16, 4), INTBITRIGHTSHIFT(-16, 2), INTBITNOT(65535), INTBITXOR(5, 1)]
            => [256, -4, -65536, 4]
        RAND() >= 0 AND RAND() < 1 => true
        VECTORDISTANCE([1, 0], [1, 0]) => 1
        VECTORDISTANCE([1, 2], [3, 4], true, {distanceFunction: 'DotProduct'}) => 11
        VECTORDISTANCE([0, 0], [3, 4], false, {distanceFunction: 'euclidean'}) => 5
        [VECTORDISTANCE([1], [1, 2]), VECTORDISTANCE([[1]], [[1]])] => []
    ",
    );
}

#[test]
fn functions_of_full_text() {
    check_values(
        r"
        [FULLTEXTCONTAINS('A red-bike!', 'RED BIKE'), FULLTEXTCONTAINS('redbike', 'red')] => [true, false]
        [FULLTEXTCONTAINS('red blue bike', 'red bike'), FULLTEXTCONTAINS('a', '!')] => [false]
        [FULLTEXTCONTAINSALL('red bike', 'red', 'blue'), FULLTEXTCONTAINSANY('red bike', 'blue', 'red')]
            => [false, true]
        [FULLTEXTCONTAINS(1, 'a'), FULLTEXTCONTAINS('a', 1), FULLTEXTCONTAINSALL('a', 'a', undefined)] => []
        [_FULLTEXTWORDCOUNT('A red-bike!'), _FULLTEXTWORDCOUNT(1)] => [3, 0]
        ROUND(_FULLTEXTSCORE('red bike', ['red', 'x'], 3, 12, [1, 0]), 6) => 1.233042
        [_FULLTEXTSCORE('', ['a'], 0, 0, [0]), _FULLTEXTSCORE('a', ['a'])] => []
        [_VECTORSCORE([0, 0], [3, 4], false, {distanceFunction: 'euclidean'}), _VECTORSCORE([1], [1])] => [-5, 1]
    ",
    );
    let fuzzy = "SELECT VALUE FULLTEXTCONTAINS('a', {term: 'a', distance: 1})";
    let fuzzy = Prepared::new(fuzzy, Vec::new()).unwrap();
    assert!(fuzzy.rows(&Json::Null).unwrap_err().message.contains("fuzzy"));
}

#[test]
fn functions_of_texts() {
    check_values(
        r#"
        [CONCAT('a', 'b', 'c'), CONCAT('a', 1), LENGTH('a😀'), UPPER('aé'), LOWER('AÉ')] => ["abc", 2, "AÉ", "aé"]
        [CONTAINS('AdventureWorks', 'works'), CONTAINS('AdventureWorks', 'works', true)] => [false, true]
        [STARTSWITH('abc', 'AB', true), ENDSWITH('abc', 'bc'), STRINGEQUALS('a', 'A', true)] => [true, true, true]
        [CONTAINS('a', undefined), CONTAINS('a', 'a', 1)] => []
        CONTAINS_ALL_CI('Have a nice day!', 'HAVE', 'NICE') => true
        CONTAINS_ALL_CS('Have a nice day!', undefined, 'nice') =>
        CONTAINS_ALL_CS('Have a nice day!', undefined, 'had') => false
        CONTAINS_ANY_CS('Have a nice day!', undefined, 'nice') => true
        CONTAINS_ANY_CI('Have a nice day!', undefined, 'had') =>
        [INDEX_OF('abcab', 'ab'), INDEX_OF('abcab', 'ab', 1), INDEX_OF('😀b', 'b'), INDEX_OF('a', 'x')]
            => [0, 3, 1, -1]
        [LASTINDEXOF('abcab', 'ab'), INDEX_OF('a', 'a', 5)] => [3, -1]
        [LEFT('abc', 2), RIGHT('abc', 2), LEFT('abc', -1), RIGHT('abc', 9)] => ["ab", "bc", "", "abc"]
        [SUBSTRING('AdventureWorks', 9, 5), SUBSTRING('abc', 1, -1), SUBSTRING('abc', 5, 1)] => ["Works", "", ""]
        [LTRIM('  a '), RTRIM('  a '), LTRIM('AdventureWorks', 'Adventure'), TRIM('-_-a-_-', '-_')]
            => ["a ", "  a", "Works", "a"]
        [REPLACE('a-b-c', '-', '+'), REPLACE('abc', '', 'x'), SUBSTRING('abc', -1, 2), REVERSE('xy😀')]
            => ["a+b+c", "", "😀yx"]
        [REPLICATE('ab', 2), REPLICATE('ab', -1), REPLICATE('ab', 6000), REPLICATE('', 1e15)] => ["abab", ""]
        [STRINGJOIN(['6', '7'], 'A'), STRINGJOIN([1], 'A')] => ["6A7"]
        [STRINGSPLIT('xenmoun mountain', 'moun'), STRINGSPLIT('Helmet', ''), STRINGSPLIT('', '')]
            => [["xen", " ", "tain"], ["Helmet"], [""]]
        [TOSTRING(1.0), TOSTRING('a'), TOSTRING({a: [1, 'b']}), TOSTRING(null)]
            => ["1", "a", "{\"a\":[1,\"b\"]}", "null"]
        [STRINGTONUMBER(' 1.50 '), STRINGTONUMBER('x'), STRINGTOBOOLEAN('true'), STRINGTOBOOLEAN('TRUE')]
            => [1.5, true]
        [STRINGTONULL('null'), STRINGTOARRAY('[1]'), STRINGTOARRAY('{}'), STRINGTOOBJECT('{"a":1}')]
            => [null, [1], {"a": 1}]
        [REGEXMATCH('abcd', 'ABC', 'i'), REGEXMATCH('ab', '^b'), REGEXMATCH('a\nb', '^b', 'm')]
            => [true, false, true]
        [REGEXMATCH('abcd', 'A B C', 'ix'), REGEXMATCH('a', 'a', 'q'), REGEXMATCH(1, 'a')] => [true]
    "#,
    );
    check_refused("SELECT VALUE REGEXMATCH('a', '(?=a)') => look-around");
}

#[test]
fn functions_of_arrays_and_objects() {
    check_values(
        r#"
        ARRAY_CONCAT([1], ['a', null], []) => [1, "a", null]
        [ARRAY_CONTAINS([1, 'a'], 'a'), ARRAY_CONTAINS([1], 2), ARRAY_CONTAINS([{a: 1, b: 2}], {a: 1})]
            => [true, false, false]
        [ARRAY_CONTAINS([{a: 1, b: 2}], {a: 1}, true), ARRAY_CONTAINS([{b: 2, a: 1}], {a: 1, b: 2})] => [true, true]
        [ARRAY_CONTAINS_ANY([1, 2], 2, 9), ARRAY_CONTAINS_ANY([1], 5, undefined), ARRAY_CONTAINS_ANY([], 1)]
            => [true, false]
        [ARRAY_CONTAINS_ALL([1, 2], 2, 1), ARRAY_CONTAINS_ALL([1], 1, 2), ARRAY_CONTAINS_ALL([1], undefined, 1)]
            => [true, false]
        [ARRAY_LENGTH([1, 2]), ARRAY_LENGTH('a')] => [2]
        [ARRAY_SLICE([1, 2, 3], 1), ARRAY_SLICE([1, 2, 3], -2, 1), ARRAY_SLICE([1], 0, -1), ARRAY_SLICE([1], -9)]
            => [[2, 3], [2], [], [1]]
        [ARRAY_SUM([1, 2]), ARRAY_AVG([1, -2.7, 3, -4, undefined]), ARRAY_MEDIAN([1, 2, 3, 4]),
            ARRAY_MEDIAN([7.8, 3.3, 1])]
            => [3, -0.675, 2.5, 3.3]
        [ARRAY_AVG(['a']), ARRAY_MAX([12, 'abc', true, null]), ARRAY_MIN([true, false]), ARRAY_MAX([])]
            => ["abc", false]
        [CHOOSE(1, 'a', 'b'), CHOOSE(0, 'a'), CHOOSE(3, 'a'), CHOOSE(1.5, 'a')] => ["a"]
        OBJECTTOARRAY({a: '12345', b: 67890}) => [{"k": "a", "v": "12345"}, {"k": "b", "v": 67890}]
        OBJECTTOARRAY({a: 1}, 'name', 'value') => [{"name": "a", "value": 1}]
        [SETINTERSECT([1, 2, 3, 3], [3, 4, 1]), SETUNION([1, 2, 1], [3, 2]), SETDIFFERENCE([1, 2, 1], [2])]
            => [[1, 3], [1, 2, 3], [1]]
        [SETEQUAL([1, 2, 1], [2, 1]), SETEQUAL([1], [2])] => [true, false]
        DOCUMENTID({_rid: 'ktF4AOFf0AkBAAAAAAAAAA=='}) => 1
    "#,
    );
}

#[test]
fn functions_of_types_and_conditions() {
    check_values(
        r#"
        [IS_ARRAY([]), IS_BOOL(1), IS_DEFINED(undefined), IS_NULL(null), IS_NUMBER(1), IS_OBJECT({}), IS_STRING('')]
            => [true, false, false, true, true, true, true]
        [IS_INTEGER(2.0), IS_INTEGER(2.5), IS_FINITE_NUMBER(1), IS_PRIMITIVE(null), IS_PRIMITIVE([]),
            IS_STRING(undefined)]
            => [true, false, true, true, false, false]
        [TYPE(1), TYPE({}), TYPE(undefined)] => ["number", "object"]
        [IIF(true, 1, 2), IIF('true', 1, 2), IIF(undefined, 1, 2)] => [1, 2, 2]
    "#,
    );
}

#[test]
fn functions_of_the_time() {
    let (from, to) = ("'2019-02-04T16:00:00.0000000'", "'2018-03-05T05:00:00.0000000'");
    let diff = format!(
        "[{}]",
        ["yyyy", "mm", "dd", "hh", "ss"]
            .map(|part| format!("DATETIMEDIFF('{part}', {from}, {to})"))
            .join(", ")
    );
    check_values(
        r#"
        DATETIMEADD('mm', 1, '2020-07-03T00:00:00.0000000') => "2020-08-03T00:00:00.0000000Z"
        [DATETIMEADD('month', -1, '2020-03-31'), DATETIMEADD('yyyy', 1, '2020-02-29T01:02:03Z')]
            => ["2020-02-29T00:00:00.0000000Z", "2021-02-28T01:02:03.0000000Z"]
        DATETIMEADD('ss', 5 * -5, '2020-07-03T00:00:00.0000000') => "2020-07-02T23:59:35.0000000Z"
        [DATETIMEADD('ss', 1, 'x'), DATETIMEADD('x', 1, '2020-07-03'), DATETIMEADD('yyyy', 1e15,
            '2020-07-03'), DATETIMEADD('ss', 0.5, '2020-07-03')]
            => []
        DATETIMEBIN('2021-01-08T18:35:00.0000000', 'hh', 5) => "2021-01-08T15:00:00.0000000Z"
        DATETIMEBIN('2021-01-08T18:35:00.0000000', 'dd', 7) => "2021-01-07T00:00:00.0000000Z"
        DATETIMEBIN('2021-01-08T18:35:00.0000000', 'dd', 7, '1601-01-01T00:00:00.0000000')
            => "2021-01-04T00:00:00.0000000Z"
        [DATETIMEBIN('2021-01-08', 'dd', 0), DATETIMEBIN('2021-01-08', 'yyyy')] => []
        DATETIMEFROMPARTS(2017, 4, 20, 13, 15, 20, 3456789) => "2017-04-20T13:15:20.3456789Z"
        [DATETIMEFROMPARTS(2017, 4, 20), DATETIMEFROMPARTS(-2000, 1, 1), DATETIMEFROMPARTS(2017, 2, 30)]
            => ["2017-04-20T00:00:00.0000000Z"]
        [DATETIMEPART('yyyy', '2016-05-29T08:30:00.1301617'), DATETIMEPART('mm', '2016-05-29'),
            DATETIMEPART('dd', '2016-05-29')]
            => [2016, 5, 29]
        [DATETIMEPART('hh', '2016-05-29T08:30:59'), DATETIMEPART('mi', '2016-05-29T08:30:59'),
            DATETIMEPART('ss', '2016-05-29T08:30:59')]
            => [8, 30, 59]
        [DATETIMEPART('ms', '2016-05-29T08:30:00.1301617'), DATETIMEPART('mcs',
            '2016-05-29T08:30:00.1301617'), DATETIMEPART('ns', '2016-05-29T08:30:00.1301617')]
            => [130, 130161, 130161700]
        DATETIMETOTICKS('2015-05-19T12:00:00.0000000') => 14320368000000000
        DATETIMETOTIMESTAMP('2015-05-19T12:00:00.0000000Z') => 1432036800000
        [TICKSTODATETIME(15973607943002652), TICKSTODATETIME(-116444736000000000), TICKSTODATETIME(9e18)]
            => ["2020-08-13T23:19:54.3002652Z", "1601-01-01T00:00:00.0000000Z"]
        TIMESTAMPTODATETIME(1432036800000) => "2015-05-19T12:00:00.0000000Z"
        DATETIMEFORMAT('2024-10-10 14:40:20', 'yyyy-MM-dd [HH:mm:ss]') => "2024-10-10 [14:40:20]"
        DATETIMEFORMAT('2024-10-10 14:40:20', 'To\\da\\y i\\s: yyyy-MM-ddTHH:mm:ss.FFF hh tt')
            => "Today is: 2024-10-10T14:40:20. 02 PM"
        GETCURRENTTICKSSTATIC() = GETCURRENTTICKSSTATIC() => true
        GETCURRENTTIMESTAMP() - DATETIMETOTIMESTAMP(GETCURRENTDATETIME()) <= 0 => true
        [DATETIMEDIFF('hh', AGO('dd', 1), NOW()), DATETIMEDIFF('yyyy', NOW(), NOW('yyyy', 2))] => [24, 2]
    "#,
    );
    check_value(&diff, "[-1, -11, -336, -8075, -29070000]");
}

#[test]
fn functions_of_space() {
    let table = r#"
        ROUND(ST_DISTANCE({type: 'Point', coordinates: [0, 0]}, {type: 'Point', coordinates: [1, 0]}) / 1000) => 111
        ROUND(ST_DISTANCE({type: 'Point', coordinates: [1, 3]}, SQUARE) / 1000) => 111
        ST_DISTANCE({type: 'Point', coordinates: [1, 1]}, SQUARE) => 0
        ST_WITHIN({type: 'Point', coordinates: [1, 1]}, SQUARE) => true
        ST_WITHIN({type: 'Point', coordinates: [3, 1]}, SQUARE) => false
        ST_INTERSECTS(SQUARE, {type: 'LineString', coordinates: [[-1, 1], [3, 1]]}) => true
        ST_INTERSECTS(SQUARE, {type: 'LineString', coordinates: [[-1, 3], [3, 3]]}) => false
        ROUND(ST_AREA({type: 'Polygon', coordinates: [[[31.8, -5], [32, -5], [32, -4.7], [31.8, -4.7],
            [31.8, -5]]]}) / 1e7)
            => 74
        [ST_ISVALID({type: 'Point', coordinates: [133, -184]}), ST_ISVALID(SQUARE), ST_ISVALID({})]
            => [false, true, false]
        ST_ISVALIDDETAILED({type: 'Point', coordinates: [133, -184]})
            => {"valid": false, "reason": "Latitude values must be between -90 and 90 degrees."}
        ST_DISTANCE({type: 'Point'}, 1) =>
    "#;
    let square = "{type: 'Polygon', coordinates: [[[0, 0], [2, 0], [2, 2], [0, 2], [0, 0]]]}";
    check_values(&table.replace("SQUARE", square));
}

#[test]
fn calls_are_checked() {
    check_refused(
        r#"
        SELECT VALUE BADFUNC(1)
            => {"errors":[{"severity":"Error","location":{"start":13,"end":20},"code":"SC2005","message":"'BADFUNC' is not a recognized built-in function name."}
        SELECT VALUE ABS() => "code":"SC2050","message":"The ABS function requires 1 argument(s)."
        SELECT VALUE CONCAT('a') => The CONCAT function requires at least 2 argument(s).
        SELECT VALUE udf.tax(1) => udf.tax
    "#,
    );
}
