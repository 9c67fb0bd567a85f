alter table change
  validate constraint change_subject,
  validate constraint change_via;
