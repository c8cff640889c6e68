//! The constructions of the demo corpus: a function each, from parts in both languages to a sentence in both.

use super::Triple;
use super::phrases::{Adverbs, NounPhrase, join, triples};
use super::words::{Class, Modal, Verb, Words};
use crate::pairs::Pair;

/// A sentence, and who did what to whom in it.
pub(super) type Translated = (Pair, Vec<Triple>);

fn pair<const N: usize, const M: usize>(en: [&str; N], zh: [&str; M]) -> Pair {
    Pair { source: join(en), target: join(zh) }
}

/// “Tom often helps Jerry” → 汤姆 经常 帮助 杰瑞
///
/// “Tom sees Jerry in the kitchen every morning” → 汤姆 每天 早上 在 厨房 里 看见 杰瑞
pub(super) fn present(s: &NounPhrase, often: Words, v: &Verb, o: &NounPhrase, how: &Adverbs) -> Translated {
    let en = [&s.subject, often.0, s.present(v), &o.object, &how.en()];
    let zh = [&s.zh, how.time(), often.1, &how.place_and_manner(), v.zh, &o.zh];
    (pair(en, zh), triples(s, v.base, o))
}

/// “Tom chased Jerry in the park” → 汤姆 在 公园 里 追逐 了 杰瑞
///
/// What is done to a thing that is known comes before the verb, behind 把:
/// “Tom ate the cake yesterday” → 汤姆 昨天 把 蛋糕 吃 了
pub(super) fn past(s: &NounPhrase, v: &Verb, o: &NounPhrase, how: &Adverbs) -> Translated {
    let en = [&s.subject, v.past, &o.object, &how.en()];
    let when = join([&s.zh, how.time(), &how.place_and_manner()]);
    let what = if v.class == Class::Disposal && o.definite {
        join(["把", &o.zh, v.zh, "了"])
    } else {
        join([v.zh, "了", &o.zh])
    };
    (pair(en, [&when, &what]), triples(s, v.base, o))
}

/// “Tom will help Jerry tomorrow” → 汤姆 明天 会 帮助 杰瑞
pub(super) fn modal(s: &NounPhrase, m: &Modal, v: &Verb, o: &NounPhrase, how: &Adverbs) -> Translated {
    let en = [&s.subject, s.agree(m.third, m.base), v.base, &o.object, &how.en()];
    let zh = [&s.zh, how.time(), m.zh, &how.place_and_manner(), v.zh, &o.zh];
    (pair(en, zh), triples(s, v.base, o))
}

/// “Tom does not like Jerry” → 汤姆 不 喜欢 杰瑞
pub(super) fn does_not(s: &NounPhrase, v: &Verb, o: &NounPhrase) -> Translated {
    let en = [&s.subject, s.agree("does not", "do not"), v.base, &o.object];
    (pair(en, [&s.zh, "不", v.zh, &o.zh]), triples(s, v.base, o))
}

/// “Tom did not see Jerry yesterday” → 汤姆 昨天 没有 看见 杰瑞
pub(super) fn did_not(s: &NounPhrase, v: &Verb, o: &NounPhrase, how: &Adverbs) -> Translated {
    let en = [&s.subject, "did not", v.base, &o.object, &how.en()];
    let zh = [&s.zh, how.time(), "没有", &how.place_and_manner(), v.zh, &o.zh];
    (pair(en, zh), triples(s, v.base, o))
}

/// “Tom will not help Jerry” → 汤姆 不 会 帮助 杰瑞
pub(super) fn modal_not(s: &NounPhrase, m: &Modal, v: &Verb, o: &NounPhrase, how: &Adverbs) -> Translated {
    let en = [&s.subject, s.agree(m.not_third, m.not_base), v.base, &o.object, &how.en()];
    let zh = [&s.zh, how.time(), "不", m.zh, &how.place_and_manner(), v.zh, &o.zh];
    (pair(en, zh), triples(s, v.base, o))
}

/// “does Tom like Jerry” → 汤姆 喜欢 杰瑞 吗
pub(super) fn does(s: &NounPhrase, v: &Verb, o: &NounPhrase) -> Translated {
    let en = [s.agree("does", "do"), &s.subject, v.base, &o.object];
    (pair(en, [&s.zh, v.zh, &o.zh, "吗"]), triples(s, v.base, o))
}

/// “did Tom see Jerry yesterday” → 汤姆 昨天 看见 杰瑞 了 吗
pub(super) fn did(s: &NounPhrase, v: &Verb, o: &NounPhrase, how: &Adverbs) -> Translated {
    let en = ["did", &s.subject, v.base, &o.object, &how.en()];
    let zh = [&s.zh, how.time(), &how.place_and_manner(), v.zh, &o.zh, "了", "吗"];
    (pair(en, zh), triples(s, v.base, o))
}

/// “will Tom help Jerry tomorrow” → 汤姆 明天 会 帮助 杰瑞 吗
pub(super) fn will(s: &NounPhrase, v: &Verb, o: &NounPhrase, how: &Adverbs) -> Translated {
    let en = ["will", &s.subject, v.base, &o.object, &how.en()];
    let zh = [&s.zh, how.time(), "会", &how.place_and_manner(), v.zh, &o.zh, "吗"];
    (pair(en, zh), triples(s, v.base, o))
}

/// “who did Tom see” → 汤姆 看见 了 谁
///
/// “who does Tom like” → 汤姆 喜欢 谁
pub(super) fn whom(what: &NounPhrase, s: &NounPhrase, v: &Verb) -> Translated {
    let (asked, done) = if v.class == Class::Feeling { (s.agree("does", "do"), "") } else { ("did", "了") };
    let en = [&what.object, asked, &s.subject, v.base];
    (pair(en, [&s.zh, v.zh, done, &what.zh]), triples(s, v.base, what))
}

/// “who will Tom help” → 汤姆 会 帮助 谁
pub(super) fn whom_will(what: &NounPhrase, s: &NounPhrase, v: &Verb) -> Translated {
    let en = [&what.object, "will", &s.subject, v.base];
    (pair(en, [&s.zh, "会", v.zh, &what.zh]), triples(s, v.base, what))
}

/// “where did Tom see Jerry” → 汤姆 是 在 哪里 看见 杰瑞 的
pub(super) fn where_did(s: &NounPhrase, v: &Verb, o: &NounPhrase) -> Translated {
    let en = ["where did", &s.subject, v.base, &o.object];
    (pair(en, [&s.zh, "是 在 哪里", v.zh, &o.zh, "的"]), triples(s, v.base, o))
}

/// “when did Tom see Jerry” → 汤姆 是 什么 时候 看见 杰瑞 的
pub(super) fn when_did(s: &NounPhrase, v: &Verb, o: &NounPhrase) -> Translated {
    let en = ["when did", &s.subject, v.base, &o.object];
    (pair(en, [&s.zh, "是 什么 时候", v.zh, &o.zh, "的"]), triples(s, v.base, o))
}

/// “why did Tom chase Jerry” → 汤姆 为什么 追逐 杰瑞
pub(super) fn why_did(s: &NounPhrase, v: &Verb, o: &NounPhrase) -> Translated {
    let en = ["why did", &s.subject, v.base, &o.object];
    (pair(en, [&s.zh, "为什么", v.zh, &o.zh]), triples(s, v.base, o))
}

/// “where will Tom visit Jerry” → 汤姆 会 在 哪里 看望 杰瑞
pub(super) fn where_will(s: &NounPhrase, v: &Verb, o: &NounPhrase) -> Translated {
    let en = ["where will", &s.subject, v.base, &o.object];
    (pair(en, [&s.zh, "会 在 哪里", v.zh, &o.zh]), triples(s, v.base, o))
}

/// “when will Tom visit Jerry” → 汤姆 什么 时候 会 看望 杰瑞
pub(super) fn when_will(s: &NounPhrase, v: &Verb, o: &NounPhrase) -> Translated {
    let en = ["when will", &s.subject, v.base, &o.object];
    (pair(en, [&s.zh, "什么 时候 会", v.zh, &o.zh]), triples(s, v.base, o))
}

/// “Jerry is often chased by Tom” → 杰瑞 经常 被 汤姆 追逐
pub(super) fn is_done(o: &NounPhrase, often: Words, v: &Verb, s: &NounPhrase) -> Translated {
    let en = [&o.subject, o.is(), often.0, v.participle, "by", &s.object];
    (pair(en, [&o.zh, often.1, "被", &s.zh, v.zh]), triples(s, v.base, o))
}

/// “Jerry was chased by Tom in the garden” → 杰瑞 在 花园 里 被 汤姆 追逐 了
pub(super) fn was_done(o: &NounPhrase, v: &Verb, s: &NounPhrase, how: &Adverbs) -> Translated {
    let en = [&o.subject, o.was(), v.participle, "by", &s.object, &how.en()];
    let zh = [&o.zh, how.time(), &how.place_and_manner(), "被", &s.zh, v.zh, "了"];
    (pair(en, zh), triples(s, v.base, o))
}

/// “Jerry was not chased by Tom yesterday” → 杰瑞 昨天 没有 被 汤姆 追逐
pub(super) fn was_not_done(o: &NounPhrase, v: &Verb, s: &NounPhrase, how: &Adverbs) -> Translated {
    let en = [&o.subject, o.was(), "not", v.participle, "by", &s.object, &how.en()];
    let zh = [&o.zh, how.time(), "没有", &how.place_and_manner(), "被", &s.zh, v.zh];
    (pair(en, zh), triples(s, v.base, o))
}

/// “was Jerry chased by Tom” → 杰瑞 被 汤姆 追逐 了 吗
pub(super) fn was_it_done(o: &NounPhrase, v: &Verb, s: &NounPhrase) -> Translated {
    let en = [o.was(), &o.subject, v.participle, "by", &s.object];
    (pair(en, [&o.zh, "被", &s.zh, v.zh, "了 吗"]), triples(s, v.base, o))
}

/// “Tom put the book on the table yesterday” → 汤姆 昨天 把 书 放 在 桌子 上
///
/// There is no present tense: *they put* would be both.
pub(super) fn put(s: &NounPhrase, o: &NounPhrase, spot: Words, time: Words) -> Translated {
    let en = [&s.subject, "put", &o.object, spot.0, time.0];
    (pair(en, [&s.zh, time.1, "把", &o.zh, "放 在", spot.1]), triples(s, "put", o))
}

/// “Tom gave the book to Jerry yesterday” → 汤姆 昨天 把 书 给 了 杰瑞
pub(super) fn give_to(s: &NounPhrase, o: &NounPhrase, to: &NounPhrase, time: Words) -> Translated {
    let en = [&s.subject, "gave", &o.object, "to", &to.object, time.0];
    (pair(en, [&s.zh, time.1, "把", &o.zh, "给 了", &to.zh]), triples(s, "give", o))
}

/// “Tom gave Jerry two books” → 汤姆 给 了 杰瑞 两 本 书
pub(super) fn give(s: &NounPhrase, to: &NounPhrase, o: &NounPhrase, time: Words) -> Translated {
    let en = [&s.subject, "gave", &to.object, &o.object, time.0];
    (pair(en, [&s.zh, time.1, "给 了", &to.zh, &o.zh]), triples(s, "give", o))
}

/// An adjective as it is, compared, and in Chinese.
pub(super) type Quality = (&'static str, &'static str, &'static str);

/// “Tom is taller than Jerry” → 汤姆 比 杰瑞 高
pub(super) fn than(a: &NounPhrase, (base, more, zh): Quality, b: &NounPhrase) -> Translated {
    (pair([&a.subject, a.is(), more, "than", &b.object], [&a.zh, "比", &b.zh, zh]), triples(a, base, b))
}

/// “Tom is much taller than Jerry” → 汤姆 比 杰瑞 高 得 多
pub(super) fn much_than(a: &NounPhrase, (base, more, zh): Quality, b: &NounPhrase) -> Translated {
    let en = [&a.subject, a.is(), "much", more, "than", &b.object];
    (pair(en, [&a.zh, "比", &b.zh, zh, "得 多"]), triples(a, base, b))
}

/// “Tom is as tall as Jerry” → 汤姆 和 杰瑞 一样 高
pub(super) fn as_as(a: &NounPhrase, (base, _, zh): Quality, b: &NounPhrase) -> Translated {
    let en = [&a.subject, a.is(), "as", base, "as", &b.object];
    (pair(en, [&a.zh, "和", &b.zh, "一样", zh]), triples(a, base, b))
}

/// “Tom is not as tall as Jerry” → 汤姆 没有 杰瑞 高
pub(super) fn not_as_as(a: &NounPhrase, (base, _, zh): Quality, b: &NounPhrase) -> Translated {
    let en = [&a.subject, a.is(), "not as", base, "as", &b.object];
    (pair(en, [&a.zh, "没有", &b.zh, zh]), triples(a, base, b))
}

/// “is Tom taller than Jerry” → 汤姆 比 杰瑞 高 吗
pub(super) fn is_than(a: &NounPhrase, (base, more, zh): Quality, b: &NounPhrase) -> Translated {
    let en = [a.is(), &a.subject, more, "than", &b.object];
    (pair(en, [&a.zh, "比", &b.zh, zh, "吗"]), triples(a, base, b))
}
