-- Accounts of an OpenID Connect provider with which people sign in.

create table openid_identity (
  issuer    text        not null,
  subject   text        not null,  -- the id of the account at the issuer
  person_id bigint      not null references person,
  created   timestamptz not null default now(),
  last_used timestamptz,
  primary key (issuer, subject)
);
create index openid_identity_person on openid_identity (person_id);

alter table session drop constraint session_method_check;
alter table session add constraint session_method_check
  check (method in ('link', 'passkey', 'openid'));
