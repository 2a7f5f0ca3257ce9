//! Blocks that travel: a public block as the text that other macros read, and the texts that travelled here.
//!
//! A text is `Name { items } { imports }`: the block that is asked for, the items that it needs, and for each block
//! that those import a name and its text in braces. Always: a text needs nothing that stands elsewhere, and what a
//! text declares is seen in that text alone.

use super::ast::{Item, Program, Use};
use super::is_pub;
use super::syntax;
use crate::diag::{Code, Diagnostic, Diags, Travelled};
use crate::ir::Block;
use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use std::collections::{BTreeMap, BTreeSet};
use syn::parse::{ParseStream, Parser};

/// What a macro reads.
#[derive(Clone, Default)]
pub struct Texts {
    /// What stands inside of the macro.
    pub own: TokenStream,
    /// The texts of the blocks that it imports, in the order of the imports.
    pub blocks: Vec<TokenStream>,
}

/// The paths of the blocks that a text imports, as paths of macros.
pub fn imports(own: &TokenStream) -> Vec<TokenStream> {
    let end = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ';');
    let mut paths = vec![];
    let mut rest = own.clone().into_iter();
    // Whether an item may begin with the next token.
    let mut begins = true;
    while let Some(token) = rest.next() {
        let begun = std::mem::replace(&mut begins, matches!(&token, TokenTree::Group(_)) || end(&token));
        if !begun || !matches!(&token, TokenTree::Ident(word) if word == "use") {
            continue;
        }
        begins = true;
        let item: TokenStream = std::iter::once(token).chain(rest.by_ref().take_while(|t| !end(t))).collect();
        // What cannot be read is reported with the rest of the text.
        let tree = |input: ParseStream| {
            let (absolute, tree) = syntax::imported(input)?;
            input.parse::<TokenStream>()?;
            syntax::uses(absolute, &tree)
        };
        paths.extend(tree.parse2(item).unwrap_or_default().iter().map(path));
    }
    paths
}

fn path(one: &Use) -> TokenStream {
    let Use { absolute, path, target, .. } = one;
    let start = absolute.then(|| quote!(::));
    quote!(#start #(#path::)* #target)
}

/// A text with its place among the texts of a macro.
#[derive(Default)]
pub(super) struct Source {
    pub(super) program: Program,
    /// Of its structs and configurations.
    pub(super) names: Vec<String>,
    /// By the name that the text uses: the other text, and the block's own name there.
    pub(super) imports: BTreeMap<String, (usize, String)>,
    /// Imports that have been reported.
    pub(super) failed: BTreeSet<String>,
    /// The texts that it imports, as they came.
    carried: BTreeMap<String, TokenStream>,
}

impl Source {
    fn new(program: Program) -> Source {
        let structs = program.structs.iter().map(|s| s.name.to_string());
        let names = structs.chain(program.aliases.iter().map(|a| a.name.to_string())).collect();
        let failed = program.unread_uses.iter().cloned().collect();
        Source { program, names, failed, ..Source::default() }
    }
}

/// Reads the texts: the macro's own is number 0.
pub(super) fn read(texts: Texts, diags: &mut Diags) -> Vec<Source> {
    let mut all = vec![Source::new(syntax::read(texts.own, 0, diags))];
    let uses = std::mem::take(&mut all[0].program.uses);
    let mut blocks = texts.blocks.into_iter();
    for one in &uses {
        let Some(block) = blocks.next() else {
            let message = format!("`{}` stands elsewhere, where only a build finds it", one.target);
            let report = Diagnostic::new(Code::NotSupported, one.target.span(), message);
            diags.push(report.help("compile it with cargo"));
            all[0].failed.insert(one.name.to_string());
            continue;
        };
        let before = all.len();
        match unpack(block.clone(), one, &mut all, diags) {
            Some(_) if let Some(foreign) = all[before..].iter().find_map(|source| source.program.externs.first()) => {
                let message =
                    format!("`{}` calls `{}`, and foreign functions do not travel yet", one.target, foreign.name);
                diags.push(Diagnostic::new(Code::NotSupported, one.target.span(), message));
                all[0].failed.insert(one.name.to_string());
            }
            Some(_) if let Some(import) = all[before..].iter().find_map(|source| source.program.imports.first()) => {
                let message =
                    format!("`{}` has `{}`, a model of a file, and these do not travel yet", one.target, import.name);
                let report = Diagnostic::new(Code::NotSupported, one.target.span(), message);
                diags.push(report.help("import the file where it is used"));
                all[0].failed.insert(one.name.to_string());
            }
            Some(imported) => {
                let name = one.name.to_string();
                all[0].carried.insert(name.clone(), block);
                if all[0].imports.insert(name, imported).is_some() {
                    let others = uses.iter().map(|other| &other.name);
                    super::declared::duplicate("imported block", &one.name, others, diags);
                }
            }
            None => {
                let message = format!("`{}` is a macro, but not a block", one.target);
                diags.push(Diagnostic::new(Code::NotABlock, one.target.span(), message));
                all[0].failed.insert(one.name.to_string());
            }
        }
    }
    report_imports(&uses, &all[0], diags);
    all
}

/// Adds a text that travelled here and those inside of it; gives the number and the name of what was asked for.
fn unpack(text: TokenStream, via: &Use, all: &mut Vec<Source>, diags: &mut Diags) -> Option<(usize, String)> {
    let mut tokens = text.into_iter();
    let (Some(TokenTree::Ident(block)), Some(TokenTree::Group(items)), Some(TokenTree::Group(imports)), None) =
        (tokens.next(), tokens.next(), tokens.next(), tokens.next())
    else {
        return None;
    };
    let number = all.len();
    let import = via.target.span().into();
    diags.travelled(Travelled { block: block.to_string(), import, text: items.stream() });
    // Its own macro has reported what cannot be read.
    let program = syntax::read(items.stream(), number, &mut Diags::default());
    all.push(Source::new(program));
    let mut rest = imports.stream().into_iter();
    while let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(text))) = (rest.next(), rest.next()) {
        let inner = unpack(text.stream(), via, all, diags)?;
        all[number].imports.insert(name.to_string(), inner);
    }
    Some((number, block.to_string()))
}

fn report_imports(uses: &[Use], own: &Source, diags: &mut Diags) {
    let mut words = BTreeSet::new();
    own.program.items.iter().for_each(|item| collect_words(&item.tokens, &mut words));
    for one in uses {
        let name = one.name.to_string();
        let structs = own.program.structs.iter().map(|s| &s.name);
        if let Some(local) = structs.chain(own.program.aliases.iter().map(|a| &a.name)).find(|n| **n == one.name) {
            let message = format!("`{name}` is imported and declared");
            let line = local.span().start().line;
            let report = Diagnostic::new(Code::DuplicateName, one.name.span(), message);
            let report = report.note(format!("the declaration is on line {line}"));
            diags.push(report.help(format!("import it by another name: `{} as {name}2`", one.target)));
        } else if !words.contains(&name) {
            let report = Diagnostic::new(Code::UnusedImport, one.name.span(), format!("nothing here uses `{name}`"));
            diags.push_about(&name, report.help("remove the import, or declare a field of it"));
        }
    }
}

/// The public blocks of a macro's own text, each as a text that can travel.
pub(super) fn blocks(own: &Source) -> Vec<Block> {
    let program = &own.program;
    let structs = program.structs.iter().map(|s| (&s.name, &s.vis));
    let declared = structs.chain(program.aliases.iter().map(|a| (&a.name, &a.vis)));
    let mut names = BTreeSet::new();
    let public = declared.filter(|(name, _)| names.insert(name.to_string())).filter(|(_, vis)| is_pub(vis));
    public.map(|(name, vis)| Block { name: name.clone(), vis: vis.to_token_stream(), text: text(name, own) }).collect()
}

fn text(block: &Ident, own: &Source) -> TokenStream {
    let needed = needed(&block.to_string(), own);
    let items = own.program.items.iter().filter(|item| needed.contains(&item.name)).map(|item| &item.tokens);
    let imports = own.carried.iter().filter(|(name, _)| needed.contains(*name)).map(|(name, text)| {
        let name = Ident::new(name, block.span());
        quote!(#name { #text })
    });
    quote!(#block { #(#items)* } { #(#imports)* })
}

/// The names of the items and imports that an item needs: those that it names, and what they need.
fn needed(first: &str, own: &Source) -> BTreeSet<String> {
    let mut by_name: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
    own.program.items.iter().for_each(|item| by_name.entry(&item.name).or_default().push(item));
    let (mut needed, mut open) = (BTreeSet::new(), vec![first.to_owned()]);
    while let Some(name) = open.pop() {
        let items = by_name.get(name.as_str());
        if items.is_none() && !own.carried.contains_key(&name) || !needed.insert(name.clone()) {
            continue;
        }
        let mut words = BTreeSet::new();
        items.into_iter().flatten().for_each(|item| collect_words(&item.tokens, &mut words));
        open.extend(words);
    }
    needed
}

fn collect_words(tokens: &TokenStream, words: &mut BTreeSet<String>) {
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(word) => drop(words.insert(word.to_string())),
            TokenTree::Group(group) => collect_words(&Group::stream(&group), words),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}
