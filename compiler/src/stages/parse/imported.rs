//! Models of files as fields: their parameters among those of the model, and what files these are in.

use super::ast::{Arg, Field};
use super::instance::{FieldInstance, Instances};
use crate::diag::{Code, Diagnostic, Diags, Place};
use crate::ir::Model;
use crate::ir::model::{Held, Origin, Param, ParamId};
use crate::ir::precision::Storage;
use proc_macro2::Span;
use std::rc::Rc;

/// A model of a file as a block, and its parameters, in the order of the file's.
#[derive(Debug)]
pub(super) struct ImportedInstance {
    pub(super) model: Rc<Model>,
    pub(super) params: Vec<ParamId>,
    /// The type of the field.
    place: Place,
}

impl Instances<'_, '_> {
    /// A model of a file.
    pub(super) fn imported(
        &mut self,
        model: &Rc<Model>,
        field: &Field,
        args: &[Arg],
        place: Place,
        diags: &mut Diags,
    ) -> FieldInstance {
        let name = &model.name;
        if let Some(arg) = args.first() {
            let message = format!("`{name}` is imported, and takes no parameters");
            let report = Diagnostic::new(Code::WrongArity, arg.value.place, message);
            diags.push(report.help(format!("write `{name}`; what its dimensions are stands where it is imported")));
            return FieldInstance::Unknown;
        }
        let mut params = vec![];
        for of in &model.params {
            let fields = self.fields.iter().chain(&of.fields).cloned().collect();
            let name = format!("{}.{}", self.path, of.name);
            let stack = [self.stack.as_slice(), &of.stack].concat();
            match self.declare(Param { name, fields, stack, span: field.name.span(), ..of.clone() }, diags) {
                Some(id) => params.push(id),
                None => return FieldInstance::Unknown,
            }
        }
        let instance = Rc::new(ImportedInstance { model: model.clone(), params, place });
        self.imported.push(instance.clone());
        FieldInstance::Imported(instance)
    }

    /// Reports models of files whose parameters are not what those of the model are.
    pub(super) fn check_imported(&self, storage: Option<(Storage, Span)>, diags: &mut Diags) {
        for ImportedInstance { model, params, place } in self.imported.iter().map(|one| &**one) {
            let (name, own, float) = (&model.name, self.float, model.float());
            if !params.is_empty() && float != own {
                let message = format!("the parameters of `{name}` are {float}, but those of this model are {own}");
                diags.push(Diagnostic::new(Code::NotSupported, *place, message));
            }
            // Integers of a file are among its parameters, of which halves hold few.
            if let Some((storage, option)) = storage.filter(|(storage, _)| *storage != Storage::Int8) {
                let message = format!("`{name}` is imported, and its parameters are not stored in {}", storage.name());
                let report = Diagnostic::new(Code::NotSupported, option, message);
                diags.push(report.help("leave the option out, or write `parameters = int8`"));
            }
        }
    }

    /// The files that parameters are in, each once.
    pub(super) fn origins(&self) -> Vec<Origin> {
        let mut all: Vec<(&Rc<Model>, Origin)> = vec![];
        for ImportedInstance { model, params, .. } in self.imported.iter().map(|one| &**one) {
            for origin in model.origins.iter().filter(|origin| !origin.tensors.is_empty()) {
                let own = |(id, held): &(ParamId, Vec<Held>)| (params[id.0 as usize], held.clone());
                let tensors: Vec<(ParamId, Vec<Held>)> = origin.tensors.iter().map(own).collect();
                match all.iter_mut().find(|(other, _)| Rc::ptr_eq(other, model)) {
                    Some((_, known)) => known.tensors.extend(tensors),
                    None => all.push((model, Origin { tensors, ..origin.clone() })),
                }
            }
        }
        all.into_iter().map(|(_, origin)| origin).collect()
    }
}
