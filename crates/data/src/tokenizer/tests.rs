use proptest::prelude::*;

use super::*;

pub(crate) const KINDS: [TokenizerKind; 7] = [
    TokenizerKind::Word,
    TokenizerKind::Char,
    TokenizerKind::Whitespace,
    TokenizerKind::Chinese,
    TokenizerKind::Bpe,
    TokenizerKind::Unigram,
    TokenizerKind::Wordpiece,
];

/// What comes back of a text that has no word written like a special token: all of it, but for what a kind does not keep.
fn kept(kind: TokenizerKind, text: &str) -> String {
    match kind {
        TokenizerKind::Whitespace => text.split_whitespace().collect::<Vec<_>>().join(" "),
        TokenizerKind::Chinese => text.replace(chinese::BETWEEN, ""),
        _ => text.to_owned(),
    }
}

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

/// Runs as above. Within words stand ##l (5), ##o (5), ##w (6), ##e (3), ##r (2), ##n (1): ids 4 to 9 by their characters, e l n o r w.
/// Then the alphabet, space, e, l, n, o, r, w: ids 10 to 16. Pairs: ` `+`##l`, `##l`+`##o` and `##o`+`##w` stand 5 times each, and the one
/// of the smallest ids goes first: `##lo` (17). Then `##lo`+`##w` and ` `+`##lo`, 5 each, of which ` lo` is (10, 17) and goes first (18);
/// then ` low` (19).
#[test]
fn pieces_that_continue_a_word_by_hand() {
    let config = TokenizerConfig { vocab_size: 20, ..config(TokenizerKind::Wordpiece) };
    let tokenizer = Tokenizer::train(&config, ["low low low", "lower lower new"]).unwrap();
    let within = ["##e", "##l", "##n", "##o", "##r", "##w"];
    let alphabet = [" ", "e", "l", "n", "o", "r", "w"];
    assert_eq!(entries(&tokenizer), [&within[..], &alphabet, &["##lo", " lo", " low"]].concat());
    assert_eq!(tokenizer.tokens("lower new"), ["low", "##e", "##r", " ", "##n", "##e", "##w"]);
    assert_eq!(tokenizer.decode(&tokenizer.encode("lower new")), "lower new");
    // One unknown character, and the word is unknown.
    assert_eq!(tokenizer.encode("lowly low"), [UNK, 19]);
}

#[test]
fn probable_pieces_by_hand() {
    let lines = ["low low low low", "lower lower new"];
    let config = TokenizerConfig { vocab_size: 13, ..config(TokenizerKind::Unigram) };
    let tokenizer = Tokenizer::train(&config, lines).unwrap();
    // Seven characters, and the piece that spares most: ` low`, in six of seven words.
    assert!(entries(&tokenizer).contains(&" low".to_owned()), "{:?}", entries(&tokenizer));
    assert!((12..=13).contains(&tokenizer.vocabulary_size()));
    assert_eq!(tokenizer.tokens("low"), ["low"]);
    assert_eq!(tokenizer.decode(&tokenizer.encode("new lower")), "new lower");
    assert!(tokenizer.encode("x").contains(&UNK));
}

#[test]
fn what_stands_between_spaces_by_hand() {
    let tokenizer = trained(TokenizerKind::Whitespace, &["a c b a .", "b c\ta d."]);
    assert_eq!(entries(&tokenizer), ["a", "b", "c", ".", "d."]);
    assert_eq!(tokenizer.encode(" d.  x a "), [8, UNK, 4]);
    assert_eq!(tokenizer.decode(&[8, UNK, 4]), "d. a");
    assert_eq!(tokenizer.decode_with(&[8, UNK, 4], |_| "x".to_owned()), "d. x a");
}

/// The cuts are those of Python's jieba 0.42.1: `list(jieba.cut(text))`.
#[test]
fn chinese_words() {
    let texts = [
        ("我来到北京清华大学", "我/来到/北京/清华大学"),
        ("他来到了网易杭研大厦", "他/来到/了/网易/杭研/大厦"),
        (
            "小明硕士毕业于中国科学院计算所，后在日本京都大学深造",
            "小明/硕士/毕业/于/中国科学院/计算所/，/后/在/日本京都大学/深造",
        ),
        ("汤姆追逐杰瑞。Tom's cat 3.14", "汤姆/追逐/杰瑞/。/Tom/'/s/ /cat/ /3.14"),
    ];
    let tokenizer = trained(TokenizerKind::Chinese, &texts.map(|(text, _)| text));
    for (text, words) in texts {
        assert_eq!(tokenizer.tokens(text).join("/"), words);
        assert_eq!(tokenizer.decode(&tokenizer.encode(text)), text);
    }
    let ids = [&tokenizer.encode("汤姆")[..], &[UNK], &tokenizer.encode("杰瑞")].concat();
    assert_eq!(tokenizer.decode_with(&ids, |_| "追逐".to_owned()), "汤姆追逐杰瑞");
}

#[test]
fn words_can_be_left_out() {
    let list = |stop_words: &str| TokenizerConfig {
        stop_words: StopWords::One(stop_words.to_owned()),
        ..TokenizerConfig::default()
    };
    let tokenizer = Tokenizer::train(&list("english"), ["The theory of the cat"]).unwrap();
    assert_eq!(entries(&tokenizer), [" cat", " theory"]);
    assert_eq!(tokenizer.tokens("A theory, OF cats"), ["theory", ",", "cats"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("words.txt");
    fs::write(&path, "cat\n\n a.b \n").unwrap();
    let of_file = list(&path.to_string_lossy());
    assert_eq!(entries(&Tokenizer::train(&of_file, ["the cat"]).unwrap()), [" the"]);
    let spaced = TokenizerConfig { kind: TokenizerKind::Whitespace, ..of_file };
    assert_eq!(Tokenizer::train(&spaced, ["a.b axb cat"]).unwrap().tokens("a.b axb cat"), ["axb"]);
    let chinese = TokenizerConfig { kind: TokenizerKind::Chinese, ..list("chinese") };
    assert_eq!(Tokenizer::train(&chinese, ["我的猫"]).unwrap().tokens("我的猫"), ["猫"]);
    let pieces = TokenizerConfig { kind: TokenizerKind::Bpe, ..list("english") };
    assert_eq!(Tokenizer::train(&pieces, ["the cat cat"]).unwrap().tokens("the cat"), ["cat"]);
}

#[test]
fn stretched_letters_are_collapsed() {
    let config = TokenizerConfig { collapse_letters: true, lowercase: true, ..TokenizerConfig::default() };
    let tokenizer = Tokenizer::train(&config, ["gooood Good", "soooo good 1000"]).unwrap();
    assert_eq!(entries(&tokenizer), [" good", " 1000", " soo"]);
    assert_eq!(tokenizer.decode(&tokenizer.encode("GOOOOOD 1000")), "good 1000");
}

#[test]
fn misspelt_words_are_taken_for_known_ones() {
    let config = TokenizerConfig { correct_spelling: 2, lowercase: true, ..TokenizerConfig::default() };
    let tokenizer = Tokenizer::train(&config, ["an elephant house", "the house"]).unwrap();
    assert_eq!(tokenizer.tokens("An elephxnt HUOSE, xyzzy"), ["an", "elephant", "house", ",", "xyzzy"]);
    let ids = tokenizer.encode("An elephxnt HUOSE");
    assert_eq!(tokenizer.decode(&ids), "an elephant house");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    tokenizer.save(&path).unwrap();
    assert_eq!(Tokenizer::load(&path).unwrap().encode("An elephxnt HUOSE"), ids);
}

/// é is one character, or e and an accent; ﬁ is a ligature, Ａ is wide.
#[test]
fn ways_to_write_the_same_become_one() {
    let tokens = |normalize| {
        let config = TokenizerConfig { normalize, ..TokenizerConfig::default() };
        let tokenizer = Tokenizer::train(&config, ["café cafe\u{301} ﬁ Ａ"]).unwrap();
        entries(&tokenizer).concat()
    };
    assert_eq!(tokens(Normalize::None), " cafe\u{301} café ﬁ Ａ");
    assert_eq!(tokens(Normalize::Nfc), " café ﬁ Ａ");
    assert_eq!(tokens(Normalize::Nfkc), " café A fi");
}

#[test]
fn what_contradicts_itself_is_refused() {
    let refused = |config: TokenizerConfig| config.check().unwrap_err().to_string();
    let stop_words = StopWords::One("english".to_owned());
    let of_kind = |kind| TokenizerConfig { kind, ..TokenizerConfig::default() };
    assert_eq!(
        refused(TokenizerConfig { stop_words, ..of_kind(TokenizerKind::Char) }),
        "stop_words with kind = \"char\""
    );
    assert_eq!(
        refused(TokenizerConfig { correct_spelling: 1, ..of_kind(TokenizerKind::Bpe) }),
        "correct_spelling with kind = \"bpe\""
    );
    let file = |file: &str, kind| TokenizerConfig { file: Some(file.into()), ..of_kind(kind) };
    assert_eq!(refused(file("v.txt", TokenizerKind::Unigram)), "kind = \"unigram\" with a list of tokens");
    assert_eq!(refused(file("t.json", TokenizerKind::Bpe)), "other keys beside the file of a tokenizer");
}

#[test]
fn a_plain_list_is_a_vocabulary() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vocab.txt");
    let of_list = |text: &str, kind| {
        fs::write(&path, text).unwrap();
        Tokenizer::train::<&str>(&TokenizerConfig { file: Some(path.clone()), ..config(kind) }, [])
    };
    let list = "<blank>\n<unk>\n<s>\n</s>\ndog\t17\n.\t9\ndog\t1\n\ncat\n";
    let tokenizer = of_list(list, TokenizerKind::Whitespace).unwrap();
    assert_eq!(entries(&tokenizer), ["dog", ".", "cat"]);
    assert_eq!(tokenizer.to_list(None), "dog\n.\ncat\n");
    assert_eq!(tokenizer.to_list(Some(&[0, 0, 0, 0, 17, 9, 0])), "dog\t17\n.\t9\ncat\t0\n");
    // A list that knows nothing of spaces, and one that does.
    let tokenizer = of_list(list, TokenizerKind::Word).unwrap();
    assert_eq!(entries(&tokenizer), [" dog", ".", " .", " cat"]);
    assert_eq!(tokenizer.decode(&tokenizer.encode("cat dog.")), "cat dog.");
    assert_eq!(
        entries(&of_list(&tokenizer.to_list(None), TokenizerKind::Word).unwrap()),
        entries(&tokenizer)
    );
    assert!(matches!(of_list("<unk>\n", TokenizerKind::Char), Err(DataError::Empty { .. })));
}

const FOREIGN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/byte_level.json");

/// As `fixtures/tokenizers/byte_level.py` made it and what it says of some texts.
#[test]
fn a_foreign_tokenizer_is_adopted() {
    assert!(matches!(Tokenizer::load(FOREIGN), Err(DataError::ForeignTokenizer { .. })));
    let tokenizer = Tokenizer::import(FOREIGN).unwrap();
    let expected: HashMap<String, Vec<String>> =
        serde_json::from_str(&fs::read_to_string(FOREIGN.replace(".json", ".tokens.json")).unwrap()).unwrap();
    assert_eq!(expected.len(), 4);
    for (text, tokens) in expected {
        let ids = tokenizer.encode(&text);
        let found: Vec<String> = ids.iter().map(|&id| tokenizer.inner.id_to_token(id).unwrap()).collect();
        assert_eq!(found, tokens);
        assert!(ids.iter().all(|&id| id > END));
        // This tokenizer puts a space behind an added token.
        assert_eq!(tokenizer.decode(&ids).trim_start(), text.replace("<name>!", "<name> !"));
    }
    assert_eq!([PAD, UNK, START, END].map(|id| tokenizer.token(id)), SPECIAL);
    // 292 of the model and `<name>`; `<|endoftext|>`, `[UNK]` and `<pad>` go, our four come.
    assert_eq!(tokenizer.vocabulary_size(), 292 - 1 + 4 + 1);
    assert_eq!(tokenizer.tokens("Tom runs"), ["Tom", "runs"]);
    let ids = [&tokenizer.encode("Tom")[..], &[UNK], &tokenizer.encode("runs")[..]].concat();
    assert_eq!(tokenizer.decode_with(&ids, |_| "also".to_owned()).trim_start(), "Tom also runs");
    // In a model folder it is one of ours.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    tokenizer.save(&path).unwrap();
    let loaded = Tokenizer::load(&path).unwrap();
    assert_eq!(loaded.encode("Jerry <name>"), tokenizer.encode("Jerry <name>"));
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
        if kind == TokenizerKind::Whitespace {
            // A whole token that is written like that is an unknown word, as in corpora whose rare words are `<unk>`.
            assert_eq!(ids, [6, UNK, 4, 7, UNK, 5]);
        } else {
            assert!(ids.iter().all(|&id| id > END), "{kind:?}: {ids:?}");
            assert_eq!(tokenizer.decode(&ids), text);
        }
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
        for threads in [1, 2, 3, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let again = pool.install(|| Tokenizer::train(&config, &lines).unwrap().to_json());
            assert!(again == first, "{kind:?}");
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
        if kind != TokenizerKind::Whitespace {
            assert_eq!(loaded.decode(&loaded.encode(text)), text.to_lowercase());
        }
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
    assert!(
        parse(r#"{"kind": "syllable"}"#).unwrap_err().to_string().contains("`word`, `char`, `whitespace`")
    );
}

/// What is laid out in a row for the unigram trainer ends in a repetition here.
#[test]
fn a_text_that_ends_in_a_repetition_has_pieces() {
    let lines = ["a🕴豈￼𞤀a𑱲", "a🕴!:"];
    let tokenizer = Tokenizer::train(&config(TokenizerKind::Unigram), lines).unwrap();
    assert_eq!(lines.map(|line| tokenizer.decode(&tokenizer.encode(line))), lines);
}

/// 100,000 characters and more, with spaces and without.
#[test]
fn long_lines_come_back() {
    let spaced = "word, ".repeat(50_000);
    let unbroken = "字母".repeat(50_000);
    for kind in KINDS {
        for text in [&spaced, &unbroken] {
            let tokenizer = Tokenizer::train(&config(kind), [text]).unwrap();
            let ids = tokenizer.encode(text);
            assert_eq!(tokenizer.tokens(text).len(), ids.len());
            assert_eq!(tokenizer.decode(&ids), kept(kind, text));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_was_seen_can_be_undone(lines in prop::collection::vec(nasty_text(), 1..6)) {
        for kind in KINDS {
            let Ok(tokenizer) = Tokenizer::train(&config(kind), &lines) else {
                prop_assert!(lines.iter().all(|line| {
                    let mut words = line.split_whitespace();
                    line.is_empty() || (kind == TokenizerKind::Whitespace && words.all(|word| SPECIAL.contains(&word)))
                        || (kind == TokenizerKind::Chinese && kept(kind, line).is_empty())
                }), "{:?}", kind);
                continue;
            };
            for line in lines.iter().filter(|line| !(kind == TokenizerKind::Wordpiece && line.contains('#'))) {
                let ids = tokenizer.encode(line);
                if kind == TokenizerKind::Whitespace && line.split_whitespace().any(|word| SPECIAL.contains(&word)) {
                    continue;
                }
                prop_assert!(ids.iter().all(|&id| id > END), "{:?} {:?}", kind, ids);
                prop_assert_eq!(tokenizer.decode(&ids), kept(kind, line), "{:?}", kind);
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
