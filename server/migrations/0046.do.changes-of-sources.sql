-- The history has changes of the state of sources, which the link checker makes.
alter table change
  drop constraint change_subject_check,
  drop constraint change_via_check,
  add constraint change_subject
    check (subject in ('video', 'category', 'speaker', 'tag', 'facts', 'source')) not valid,
  add constraint change_via
    check (via in ('api', 'import', 'page', 'command', 'check')) not valid;
