use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

const KINDS: [TokenizerKind; 3] = [TokenizerKind::Word, TokenizerKind::Char, TokenizerKind::Bpe];

fn config(kind: TokenizerKind) -> TokenizerConfig {
    TokenizerConfig { kind, ..TokenizerConfig::default() }
}

fn trained(kind: TokenizerKind, lines: &[&str]) -> Tokenizer {
    Tokenizer::train(&config(kind), lines).unwrap()
}

/// All tokens but the special ones, as they are stored.
fn entries(tokenizer: &Tokenizer) -> Vec<String> {
    (4..tokenizer.vocabulary_size() as u32).map(|id| tokenizer.inner.id_to_token(id).unwrap()).collect()
}

/// `a` occurs three times, `c` and `b` twice, `d` once; the full stop twice.
const COUNTED: [&str; 2] = ["a c b a.", "b c a d."];

#[test]
fn a_dictionary_by_hand() {
    let tokenizer = trained(TokenizerKind::Word, &COUNTED);
    assert_eq!(entries(&tokenizer), [" a", " b", " c", ".", " d"]);
    assert_eq!(tokenizer.encode("d c."), [8, 6, 7]);
    assert_eq!(tokenizer.decode(&[8, 6, 7]), "d c.");
}

#[test]
fn characters_by_hand() {
    let tokenizer = trained(TokenizerKind::Char, &["abba", "b 汤"]);
    assert_eq!(entries(&tokenizer), ["b", "a", " ", "汤"]);
    assert_eq!(tokenizer.encode("a 汤"), [5, 6, 7]);
    assert_eq!(tokenizer.decode(&[5, 6, 7]), "a 汤");
}

/// Runs: ` low` three times, ` lower` twice, ` new` once. The alphabet by code point is space, e, l, n, o, r, w: ids 4 to 10.
/// Pairs: ` l`, `lo` and `ow` stand 5 times each, and the one of the smallest ids goes first: ` l` (11). Then ` l`+`o` and
/// `ow` have 5, `ow` is the pair (8, 10), ` l`+`o` is (11, 8): `ow` (12). Then ` l`+`ow` with 5: ` low` (13).
#[test]
fn pieces_by_hand() {
    let config = TokenizerConfig { vocab_size: 14, ..config(TokenizerKind::Bpe) };
    let tokenizer = Tokenizer::train(&config, ["low low low", "lower lower new"]).unwrap();
    assert_eq!(entries(&tokenizer), [" ", "e", "l", "n", "o", "r", "w", " l", "ow", " low"]);
    assert_eq!(tokenizer.encode("lower new"), [13, 5, 9, 4, 7, 5, 10]);
    assert_eq!(tokenizer.tokens("lower new"), ["low", "e", "r", " ", "n", "e", "w"]);
}

#[test]
fn the_rare_are_cut_by_count_and_by_size() {
    let at_least_two = TokenizerConfig { min_count: 2, ..TokenizerConfig::default() };
    assert_eq!(entries(&Tokenizer::train(&at_least_two, COUNTED).unwrap()), [" a", " b", " c", "."]);
    let at_most_seven = TokenizerConfig { vocab_size: 7, ..TokenizerConfig::default() };
    assert_eq!(entries(&Tokenizer::train(&at_most_seven, COUNTED).unwrap()), [" a", " b", " c"]);
    // Of the characters, too: space (8), a (3), then the full stop, b and c (2 each), and no room for pieces.
    let pieces = TokenizerConfig { kind: TokenizerKind::Bpe, ..at_most_seven };
    let tokenizer = Tokenizer::train(&pieces, COUNTED).unwrap();
    assert_eq!(entries(&tokenizer), [" ", ".", "a"]);
    assert_eq!(tokenizer.encode("ab."), [4, 6, UNK, 5]);
}

#[test]
fn special_tokens_come_first() {
    for kind in KINDS {
        let tokenizer = trained(kind, &["some text"]);
        assert_eq!([PAD, UNK, START, END].map(|id| tokenizer.token(id)), SPECIAL);
        assert_eq!(tokenizer.vocabulary_size(), entries(&tokenizer).len() + 4);
    }
}

#[test]
fn special_tokens_in_the_text_are_text() {
    let text = "a <s> </s><pad> x<s>y <unk> <s><s><s>";
    for kind in KINDS {
        let tokenizer = trained(kind, &[text; 20]);
        let ids = tokenizer.encode(text);
        assert!(ids.iter().all(|&id| id > END), "{kind:?}: {ids:?}");
        assert_eq!(tokenizer.decode(&ids), text);
        let ids = trained(kind, &["nothing of the kind"]).encode("<s> <pad> </s>");
        assert!(!ids.iter().any(|id| [PAD, START, END].contains(id)), "{kind:?}: {ids:?}");
    }
}

#[test]
fn decoding_leaves_special_tokens_out() {
    for kind in KINDS {
        let tokenizer = trained(kind, &["Tom chases Jerry"]);
        let mut ids = tokenizer.encode("Tom chases Jerry");
        ids.insert(0, START);
        ids.extend([END, PAD, PAD]);
        assert_eq!(tokenizer.decode(&ids), "Tom chases Jerry");
        assert_eq!(tokenizer.decode(&[]), "");
        assert_eq!(tokenizer.decode(&[START, UNK, END]), "");
    }
}

#[test]
fn words_and_marks_are_apart() {
    let tokenizer = trained(TokenizerKind::Word, &["x"]);
    let tokens = |text: &str| tokenizer.tokens(text);
    assert_eq!(
        tokens("Don't stop: it's 3.50 € (now)…"),
        ["Don", "'", "t", "stop", ":", "it", "'", "s", "3", ".", "50", "€", "(", "now", ")", "…"]
    );
    assert_eq!(tokens("汤姆 追逐 杰瑞。"), ["汤姆", "追逐", "杰瑞", "。"]);
    // Accents of their own, a joiner between letters, an emoji made of several.
    assert_eq!(
        tokens("cafe\u{301} می\u{200c}خواهم ❤\u{fe0f}!"),
        ["cafe\u{301}", "می\u{200c}خواهم", "❤\u{fe0f}", "!"]
    );
    assert_eq!(tokens(""), Vec::<String>::new());
}

#[test]
fn tokens_and_ids_go_together() {
    for kind in KINDS {
        let tokenizer = trained(kind, &["The cat sat on the mat."]);
        for text in ["The cat sat.", "A zebra? Ö!", "", " ", "  the\tmat "] {
            let (ids, tokens) = (tokenizer.encode(text), tokenizer.tokens(text));
            assert_eq!(ids.len(), tokens.len());
            for (id, token) in ids.into_iter().zip(tokens) {
                assert!(id == UNK || tokenizer.token(id) == token, "{id} is not {token:?}");
            }
        }
    }
}

#[test]
fn an_unknown_word_is_shown_as_it_stands() {
    let tokenizer = trained(TokenizerKind::Word, &["the dog"]);
    assert_eq!(tokenizer.encode("the wug"), [5, UNK]);
    assert_eq!(tokenizer.tokens("the wug"), ["the", "wug"]);
}

#[test]
fn small_letters_on_demand() {
    let config = TokenizerConfig { lowercase: true, ..TokenizerConfig::default() };
    let tokenizer = Tokenizer::train(&config, ["Über ÜBER über"]).unwrap();
    assert_eq!(entries(&tokenizer), [" über"]);
    assert_eq!(tokenizer.decode(&tokenizer.encode("ÜBER")), "über");
    assert_eq!(tokenizer.tokens("Über WUG"), ["über", "WUG"]);
}

#[test]
fn a_vocabulary_needs_room_and_text() {
    let lines = ["some text"];
    let small = TokenizerConfig { vocab_size: 4, ..TokenizerConfig::default() };
    assert!(matches!(Tokenizer::train(&small, lines), Err(DataError::SmallVocabulary { vocab_size: 4 })));
    for kind in KINDS {
        let rare = TokenizerConfig { min_count: 9, ..config(kind) };
        let error = Tokenizer::train(&rare, lines).unwrap_err();
        assert!(matches!(error, DataError::EmptyVocabulary { min_count: 9 }), "{error}");
        let error = Tokenizer::train::<&str>(&config(kind), []).unwrap_err();
        assert!(matches!(error, DataError::EmptyVocabulary { .. }), "{error}");
    }
}

#[test]
fn the_same_text_gives_the_same_file() {
    // Many ties, and enough of them that a hash table would show its order.
    let lines: Vec<String> =
        (0..400).map(|n| format!("w{:x} {}", n * 7919 % 1000, char::from_u32(0x4e00 + n).unwrap())).collect();
    for kind in KINDS {
        let config = TokenizerConfig { vocab_size: 300, ..config(kind) };
        let first = Tokenizer::train(&config, &lines).unwrap().to_json();
        for _ in 0..5 {
            assert!(Tokenizer::train(&config, &lines).unwrap().to_json() == first, "{kind:?}");
        }
    }
}

#[test]
fn a_file_brings_the_tokenizer_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    let text = "The cat sat on  the mat — <s> 猫.";
    for kind in KINDS {
        let tokenizer =
            Tokenizer::train(&TokenizerConfig { lowercase: true, ..config(kind) }, [text]).unwrap();
        tokenizer.save(&path).unwrap();
        let loaded = Tokenizer::load(&path).unwrap();
        assert_eq!(loaded.to_json(), tokenizer.to_json());
        assert_eq!(loaded.encode(text), tokenizer.encode(text));
        assert_eq!(loaded.decode(&loaded.encode(text)), text.to_lowercase());
    }
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(files.len(), 1);
}

#[test]
fn saving_fails_without_harm() {
    let folder = tempfile::tempdir().unwrap();
    let tokenizer = trained(TokenizerKind::Word, &["text"]);
    let error = tokenizer.save(folder.path().join("no/such/folder.json")).unwrap_err();
    assert!(matches!(error, DataError::Unwritable { .. }), "{error}");
    // A folder of that name is in the way: it stays, and nothing is left beside it.
    let in_the_way = folder.path().join("tokenizer.json");
    fs::create_dir_all(in_the_way.join("inside")).unwrap();
    assert!(tokenizer.save(&in_the_way).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_file_that_is_no_tokenizer_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    let load = |text: &str| {
        fs::write(&path, text).unwrap();
        Tokenizer::load(&path).unwrap_err()
    };
    assert!(matches!(Tokenizer::load(&path), Err(DataError::Missing { .. })));
    let whole = trained(TokenizerKind::Word, &COUNTED).to_json();
    for damaged in ["", "{}", "[1, 2]", "no JSON", &whole[..whole.len() / 2], &whole[..whole.len() - 3]] {
        let error = load(damaged);
        assert!(matches!(error, DataError::DamagedTokenizer { .. }), "{damaged:?}: {error}");
        assert_eq!(error.to_string().lines().count(), 1);
    }
    let foreign = [
        (whole.replace("<pad>", "[PAD]"), "it has no token <pad>"),
        (whole.replace("<s>", "<x>").replace("</s>", "<s>").replace("<x>", "</s>"), "<s> is token 3, not 2"),
        (whole.replace("\" d\": 8", "\" d\": 9"), "it has 9 tokens, yet \" d\" is token 9"),
        (whole.replace("\"unk_token\": \"<unk>\"", "\"unk_token\": \"?\""), "WordLevel error"),
    ];
    for (text, reason) in foreign {
        let error = load(&text);
        assert!(matches!(error, DataError::ForeignTokenizer { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn a_config_has_defaults_and_refuses_what_it_does_not_know() {
    let parse = serde_json::from_str::<TokenizerConfig>;
    assert_eq!(parse("{}").unwrap(), TokenizerConfig::default());
    assert_eq!(parse(r#"{"kind": "bpe"}"#).unwrap().kind, TokenizerKind::Bpe);
    assert!(parse(r#"{"size": 3}"#).unwrap_err().to_string().contains("vocab_size"));
    assert!(parse(r#"{"kind": "syllable"}"#).unwrap_err().to_string().contains("`word`, `char`, `bpe`"));
}

/// Ten times the tokens take about ten times as long, not a hundred times; the limits are generous, for busy machines.
#[test]
fn long_lines_take_linear_time() {
    let spaced = "word, ".repeat(50_000);
    let unbroken = "字母".repeat(50_000);
    for kind in KINDS {
        for text in [&spaced, &unbroken] {
            let start = Instant::now();
            let tokenizer = Tokenizer::train(&config(kind), [text]).unwrap();
            let ids = tokenizer.encode(text);
            assert_eq!(tokenizer.tokens(text).len(), ids.len());
            assert_eq!(&tokenizer.decode(&ids), text);
            assert!(start.elapsed() < Duration::from_secs(10), "{kind:?} took {:?}", start.elapsed());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_was_seen_can_be_undone(lines in prop::collection::vec(nasty_text(), 1..6)) {
        for kind in KINDS {
            let Ok(tokenizer) = Tokenizer::train(&config(kind), &lines) else {
                prop_assert!(lines.iter().all(String::is_empty));
                continue;
            };
            for line in &lines {
                let ids = tokenizer.encode(line);
                prop_assert!(ids.iter().all(|&id| id > END));
                prop_assert_eq!(&tokenizer.decode(&ids), line);
            }
        }
    }

    #[test]
    fn anything_can_be_encoded(text in nasty_text()) {
        for kind in KINDS {
            let tokenizer = Tokenizer::train(&config(kind), ["a few <s> words, no more"]).unwrap();
            let ids = tokenizer.encode(&text);
            prop_assert!(ids.iter().all(|&id| id == UNK || id > END));
            prop_assert_eq!(tokenizer.tokens(&text).len(), ids.len());
            tokenizer.decode(&ids);
        }
    }
}

/// Text as proptest makes it, and text of pieces that are likely to be mistaken for something else.
fn nasty_text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        " ",
        "  ",
        "\t",
        "a",
        "word",
        "Ä",
        "ß",
        "e\u{301}",
        "\u{301}",
        "'",
        "-",
        "...",
        "<s>",
        "</s>",
        "<pad>",
        "<unk>",
        "▁",
        "\u{a0}",
        "\u{200d}",
        "👩‍👩‍👧",
        "汤姆",
        "。",
        "3.14",
        "१२",
        "\u{feff}",
        "\\",
        "\"",
        "\u{0}",
        "\u{2028}",
    ]);
    prop_oneof![prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat()), any::<String>(),]
}
