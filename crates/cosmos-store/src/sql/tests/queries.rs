use super::*;

const FAMILIES: &str = r#"[
    {"id": "1", "n": 3, "s": "abc", "tags": ["a", "b", "a"], "o": {"x": null, "y": [1, {"z": 5}]}},
    {"id": "2", "n": 1, "s": "b%_", "tags": []},
    {"id": "3", "n": null, "tags": "none", "o": {"x": true}}
]"#;

#[test]
fn operators_know_undefined() {
    check_values(
        r#"
        [1 = 1, 1 = '1', 1 != '1', null = null, undefined = 1, undefined != 1] => [true, false, true, true]
        [1 < 2, 'a' < 'b', false < true, null <= null, 1 < 'a', [1] < [2], {} >= {}] => [true, true, true, true]
        [{a: 1, b: 2} = {b: 2, a: 1}, [1, 2] = [2, 1], [1] != [1, 2]] => [true, false, true]
        [false AND undefined, true AND undefined, true OR undefined, false OR undefined] => [false, true]
        [NOT true, NOT 1, NOT undefined, true AND 1, false AND 1, true OR 'a'] => [false, false, true]
        [1 IN (1, 2), 3 IN (1, undefined), 1 IN (undefined, 1), undefined IN (1), undefined NOT IN (1)]
            => [true, true]
        [3 NOT IN (1, 2, 3, 4, 5), '3' IN (1, 2, 3, 4, '3'), {a: 1} IN (1, 2, 3, {a: 1})] => [false, true, true]
        [2 BETWEEN 1 AND 3, 0 NOT BETWEEN 1 AND 3, 'b' BETWEEN 'a' AND 'c', 2 BETWEEN 'a' AND 3]
            => [true, true, true]
        [1 + 2, 7 % 4, -(3), +3, 1 + '1', 'a' - 1, 2 * null, 7 / 2] => [3, 3, -3, 3, 3.5]
        ['a' || 'b', 'a' || 1] => ["ab"]
        [undefined ?? 1, null ?? 1, undefined ?? undefined] => [1, null]
        [true ? 1 : 2, 1 ? 1 : 2, undefined ? 1 : 2] => [1, 2, 2]
        [100 >> 2, 100 << 2, 100 >>> 0, 100 & 1000, 100 | 1000, 100 ^ 1000, ~5] => [25, 400, 100, 96, 1004, 908, -6]
        [-1 >>> 0, 4294967296 | 1, 2147483648 | 0, -1 >> 1, 1.9 | 0, 1 << 33]
            => [4294967295, 1, -2147483648, -1, 1, 2]
        {a: undefined, b: [undefined, 1], 'c d': 0x1F} => {"b": [1], "c d": 31}
        [[1, 2][1], {a: 1}['a'], [1][5], [1]['0'], {a: 1}.b, 'abc'[0], @p[1], @p[@n - 2]] => [2, 1, 2, 1]
    "#,
    );
}

#[test]
fn patterns_match_whole_texts() {
    let matching = "abc a%|abc %c|abc %b%|abc _b_|abc abc| %|abc %%c|axc a[bx]c|adc a[^bx]c|a5c a[0-9]c|aaab %a_b|\
                    a😀c a_c|a[c a[[]c|mississippi %iss%ip%|a]c a[]]c|a[c a[c";
    let others = "abc a|abc %b|abc _|abc ABC| _|a-c a[bx]c|abc a[^bx]c|mississippi %iss%iss%iss%";
    for (pairs, expected) in [(matching, "true"), (others, "false")] {
        for (text, pattern) in pairs.split('|').filter_map(|pair| pair.split_once(' ')) {
            check_value(&format!("'{text}' LIKE '{pattern}'"), expected);
        }
    }
    check_values(
        r"
        ['50%' LIKE '50!%' ESCAPE '!', '500' LIKE '50!%' ESCAPE '!', 'a' NOT LIKE 'b%'] => [true, false, true]
        [1 LIKE '1', 'a' LIKE undefined, 'ab' LIKE 'a' || '_'] => [true]
    ",
    );
}

#[test]
fn a_query_makes_rows() {
    check(
        FAMILIES,
        r#"
        SELECT c.id, c.nope, c.o.x FROM c WHERE c.n = 3 => [{"id": "1", "x": null}]
        SELECT VALUE c.nope FROM c => []
        SELECT VALUE c.n FROM c => [3, 1, null]
        SELECT VALUE c["id"] FROM c WHERE c["id"] = "1" OR c.s LIKE "b%" => ["1", "2"]
        SELECT c.n + 1, c['s'], c.o.y[0] AS first, [c.id] FROM c WHERE c.id = '1'
            => [{"$1": 4, "s": "abc", "first": 1, "$2": ["1"]}]
        SELECT c.o.y[1].z, @p, c FROM c WHERE c.id = '3'
            => [{"$1": [1, 2], "c": {"id": "3", "n": null, "tags": "none", "o": {"x": true}}}]
        SELECT * FROM c.o => [{"x": null, "y": [1, {"z": 5}]}, {"x": true}]
        SELECT VALUE o.x FROM c.o => [null, true]
        SELECT VALUE f.id FROM Families AS f WHERE NOT IS_DEFINED(f.s) => ["3"]
        SELECT VALUE t FROM c JOIN t IN c.tags => ["a", "b", "a"]
        SELECT VALUE t FROM t IN c.tags => ["a", "b", "a"]
        SELECT VALUE t FROM c JOIN t IN c.tags JOIN u IN c.tags WHERE t > u => ["b", "b"]
        SELECT VALUE c.id FROM c WHERE c.n => []
        SELECT VALUE c.id FROM c WHERE c.n != 'x' => ["1", "2", "3"]
    "#,
    );
}

#[test]
fn subqueries_see_what_is_around_them() {
    check(
        FAMILIES,
        r#"
        SELECT VALUE c.id FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 'b') => ["1"]
        SELECT VALUE ARRAY(SELECT DISTINCT VALUE t FROM t IN c.tags) FROM c => [["a", "b"], [], []]
        SELECT c.id, (SELECT VALUE COUNT(1) FROM t IN c.tags) AS n FROM c
            => [{"id": "1", "n": 3}, {"id": "2", "n": 0}, {"id": "3", "n": 0}]
        SELECT VALUE s FROM c JOIN (SELECT VALUE t FROM t IN c.tags WHERE t != 'a') AS s => ["b"]
        SELECT VALUE s.t FROM c JOIN s IN (SELECT t FROM t IN c.tags WHERE t != 'a') => ["b"]
        SELECT VALUE m.big FROM c JOIN (SELECT VALUE {big: c.n * 10}) AS m WHERE m.big > 10 => [30]
        SELECT VALUE FIRST(SELECT VALUE t FROM t IN c.tags WHERE t != 'a') FROM c => ["b"]
        SELECT VALUE LAST(SELECT VALUE t FROM t IN c.tags WHERE t > c.id) FROM c => ["a"]
        SELECT VALUE ALL(SELECT VALUE t < 'c' FROM t IN c.tags) FROM c => [true, true, true]
        SELECT VALUE v1 FROM root JOIN (SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c0 FROM root
            JOIN c0 IN root['tags']) AS r1) AS v1
            => [2, 0, 0]
        SELECT VALUE (COUNT(v2) > 0) FROM (SELECT VALUE r0 FROM (SELECT VALUE root['tags']
            FROM root) AS r0 JOIN (SELECT VALUE COUNT(v0) FROM r0 JOIN v0 IN r0) AS v1 WHERE (v1 > 0)) AS v2
            => [true]
        SELECT VALUE (SELECT VALUE t FROM t IN c.tags) FROM c => []
        SELECT VALUE EXISTS(SELECT VALUE undefined) => [false]
        SELECT VALUE EXISTS(SELECT VALUE x0 FROM root JOIN x0 IN root['tags'] WHERE x0 = 'b') FROM root
            => [true, false, false]
        SELECT VALUE ARRAY(SELECT t AS tag, COUNT(1) AS n FROM t IN c.tags GROUP BY t) FROM c WHERE c.n = 3
            => [[{"tag": "a", "n": 2}, {"tag": "b", "n": 1}]]
        SELECT VALUE x FROM (SELECT VALUE c.id FROM c) AS x => ["1", "2", "3"]
    "#,
    );
}

#[test]
fn aggregates_sum_rows_up() {
    check(
        FAMILIES,
        r#"
        SELECT VALUE COUNT(c.s) * 2 FROM c => [4]
        SELECT COUNT(1), MAX(c.id) AS m, COUNT(c.nope) FROM c => [{"$1": 3, "m": "3", "$2": 0}]
        SELECT VALUE [{'item': COUNT(1)}, {'item': {'sum': SUM(c.nope), 'count': COUNT(c.nope)}}] FROM c
            => [[{"item": 3}, {"item": {"sum": 0, "count": 0}}]]
        SELECT VALUE SUM(c.n) FROM c => []
        SELECT VALUE AVG(c.n) FROM c WHERE c.n > 0 => [2]
        SELECT VALUE SUM(c.nope) FROM c => [0]
        SELECT VALUE [MIN(c.nope), MAX(c.nope), AVG(c.nope)] FROM c => [[]]
        SELECT VALUE MIN(c.nope) FROM c => []
        SELECT VALUE [MIN(c.n), MAX(c.n), MAX(c.tags)] FROM c => [[null, 3]]
        SELECT VALUE COUNT(1) FROM c WHERE false => [0]
        SELECT VALUE [COUNTIF(c.n > 1), MAKELIST(c.n), MAKESET(c.n ?? 1)] FROM c
            => [[1, [3, 1, null], [null, 1, 3]]]
        SELECT VALUE COUNT(t) FROM c JOIN t IN c.tags => [3]
        SELECT t, COUNT(1) AS n, MIN(c.id) AS i FROM c JOIN t IN c.tags GROUP BY t ORDER BY t DESC
            => [{"t": "b", "n": 1, "i": "1"}, {"t": "a", "n": 2, "i": "1"}]
        SELECT c.s, c.o.x FROM c GROUP BY c.s, c.o.x => [{"s": "abc", "x": null}, {"s": "b%_"}, {"x": true}]
        SELECT VALUE {k: UPPER(c.s), l: c.o['x']} FROM c GROUP BY UPPER(c.s), c.o.x
            => [{"k": "ABC", "l": null}, {"k": "B%_"}, {"l": true}]
        SELECT [{'item': c.s}] AS groupByItems, {'n': {'item': COUNT(1)}} AS payload
            FROM c WHERE c.s > 'b' GROUP BY c.s
            => [{"groupByItems": [{"item": "b%_"}], "payload": {"n": {"item": 1}}}]
        SELECT COUNT(1) AS n FROM c WHERE c.n = 9 GROUP BY c.s => []
        SELECT COUNT(1) AS n FROM c GROUP BY 1 = 1 ORDER BY COUNT(1) => [{"n": 3}]
    "#,
    );
}

#[test]
fn mistakes_are_refused_by_name() {
    check_refused(
        r#"
        SELECT * FORM c
            => {"errors":[{"severity":"Error","location":{"start":9,"end":13},"code":"SC1001","message":"Syntax error, incorrect syntax near 'FORM'."}]}
        SELECT * FROM c WHERE a = 1
            => {"errors":[{"severity":"Error","location":{"start":22,"end":23},"code":"SC2001","message":"Identifier 'a' could not be resolved."}]}
        SELECT c.x => SC2001
        SELECT * FROM c ORDER BY x.n => 'x'
        SELECT * FROM c WHERE c.a = @q => '@q'
        SELECT * FROM food f WHERE food.a = 1 => 'food'
        SELECT * FROM c JOIN t IN d.tags => 'd'
        SELECT * FROM c JOIN t IN c.tags => single input set
        SELECT * => FROM clause is omitted
        SELECT c.a.b[0], COUNT(1) FROM c
            => "code":"SC2102","message":"Property reference 'c.a.b' is invalid in the select list because
            it is not contained in either an aggregate function or the GROUP BY clause."
        SELECT c.a FROM c GROUP BY c.a ORDER BY c.b
            => "code":"SC2103","message":"Property reference 'c.b' is invalid in the ORDER BY clause
        SELECT VALUE ARRAY(SELECT VALUE t FROM t IN c.tags ORDER BY t) FROM c
            => 'ORDER BY' is not supported in subqueries.
        SELECT VALUE EXISTS(SELECT TOP 1 VALUE t FROM t IN c.tags) FROM c
            => "code":"SC2203","message":"'TOP' is not supported in subqueries."
        SELECT VALUE x FROM (SELECT VALUE c FROM c OFFSET 1 LIMIT 1) AS x
            => "code":"SC2204","message":"'OFFSET LIMIT' clause is not supported in subqueries."
        SELECT VALUE 1 FROM c WHERE COUNT(1) > 1 => COUNT is not allowed here
        SELECT VALUE SUM(COUNT(1)) FROM c => COUNT is not allowed here
        SELECT COUNT(1), (SELECT VALUE c.x FROM c) FROM c => SC2001
        SELECT VALUE x FROM c JOIN (SELECT VALUE d.x FROM d) AS x => 'd'
        SELECT TOP @p * FROM c => TOP clause
        SELECT * FROM c OFFSET 4294967295 LIMIT 1 => OFFSET clause
        SELECT COUNT(1) FROM c ORDER BY d.a => 'd'
        SELECT COUNT(1) FROM c ORDER BY COUNT(1) => "code":"SC2206","message":"Unsupported ORDER BY
        SELECT VALUE MAX(c.a) FROM c ORDER BY 1 => SC2206
        SELECT * FROM c ORDER BY VectorDistance(c.v, [1]) ASC => (ASC or DESC) with VectorDistance
        SELECT * FROM c ORDER BY VectorDistance(c.v, [1]) DESC => (ASC or DESC) with VectorDistance
        SELECT FullTextScore(c.a, 'x') FROM c => FULLTEXTSCORE is only allowed in ORDER BY RANK
        SELECT * FROM c ORDER BY RANK FullTextScore(c.a, 'x') DESC => Specifying a sort order (ASC or DESC)
        SELECT * FROM c ORDER BY RANK FullTextScore(c.a, ['x']) => FullTextScore takes a path
        SELECT * FROM c ORDER BY RANK c.a => ORDER BY RANK takes
        SELECT * FROM c ORDER BY RANK RRF(FullTextScore(c.a, 'x'), [1, 2]) => weights of RRF
        SELECT * FROM c ORDER BY RANK RRF() => 1 to 32 scores
        SELECT * FROM c ORDER BY RANK FullTextScore(d.a, 'x') => 'd'
        SELECT DISTINCT * FROM c ORDER BY RANK FullTextScore(c.a, 'x') => DISTINCT with ORDER BY RANK
        SELECT c.a FROM c JOIN t IN c.t ORDER BY RANK FullTextScore(c.a, 'x') => JOIN with ORDER BY RANK
        SELECT VALUE 'a' LIKE 'b' ESCAPE 'xy' => single character
    "#,
    );
}

#[test]
fn counts_may_be_parameters() {
    let prepared = |text: &str| Prepared::new(text, vec![("@n".into(), json("7"))]).unwrap();
    assert_eq!(prepared("SELECT TOP @n * FROM c").plan.top, Some(7));
    assert_eq!(prepared("SELECT * FROM c OFFSET 1 LIMIT @n").plan.offset_limit, Some((1, 7)));
}

#[test]
fn an_evaluation_has_an_end() {
    let numbers = (0..300).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let long = "x".repeat(1 << 20);
    let item = json(&format!(r#"{{"a": [{numbers}], "t": "{long}"}}"#));
    for text in [
        "SELECT VALUE 1 FROM c JOIN x IN c.a JOIN y IN c.a JOIN z IN c.a",
        "SELECT VALUE c FROM c JOIN x IN c.a",
        "SELECT VALUE 1 FROM c JOIN x IN c.a WHERE c.t != c.t",
        "SELECT VALUE 1 FROM c JOIN x IN c.a WHERE REGEXMATCH(c.t, 'a+b')",
        "SELECT VALUE REPLACE(c.t, 'x', c.t) FROM c",
        "SELECT VALUE FULLTEXTCONTAINS(REPLACE(c.t, 'x', 'x '), REPLICATE('x ', 5000)) FROM c",
        "SELECT VALUE COUNT(1) FROM c JOIN x IN c.a JOIN y IN c.a JOIN z IN c.a",
        "SELECT VALUE EXISTS(SELECT 1 FROM x IN c.a JOIN y IN c.a JOIN z IN c.a WHERE x + y + z < 0) FROM c",
        "SELECT VALUE ARRAY(SELECT VALUE c.t || STRINGJOIN(ARRAY(SELECT VALUE c.t FROM y IN c.a), 'x') FROM x IN c.a) FROM c",
        &format!("SELECT VALUE c.t LIKE '%{}y' FROM c", "x".repeat(50)),
    ] {
        let refusal = Prepared::new(text, Vec::new()).unwrap().rows(&item).expect_err(text);
        assert!(refusal.message.contains("exceeded the limit"), "{text}: {}", refusal.message);
    }
}

/// Returns calls within calls, each in a chain of operators that is as long as the parser takes it there.
fn nested(level: usize) -> String {
    if level > 60 {
        return "c.a[0][0]".into();
    }
    format!("ABS(- - -{}{})", nested(level + 2), "+1".repeat(490 / (level + 2)))
}

#[test]
fn the_deepest_text_is_evaluated() {
    let brackets = |open: &str, close: &str| format!("{}1{}", open.repeat(30), close.repeat(30));
    for text in [
        format!("{}1", "1+".repeat(450)),
        nested(1),
        brackets("[", "]"),
        brackets("(SELECT VALUE ", ")"),
        format!("{}1", "-+".repeat(30)),
        format!("{}1", "true ? 1 : ".repeat(30)),
        format!("c{}", ".a".repeat(60)),
    ] {
        let query = query(&format!("SELECT VALUE {text} FROM c"), &[json("{}")]);
        assert!(query.is_ok(), "{text}: {query:?}");
    }
}
