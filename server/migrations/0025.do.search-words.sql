-- How many live talks have each word, for the ranking of a search (docs/decisions/0042). Written by
-- the maintenance task `frequencies`; a word that is missing has at most one talk. Estimated from a
-- part of the talks in a large archive.
create table search_lexeme (
  lexeme      text collate "C",
  language_id integer,           -- of the talks
  talks       integer not null,
  primary key (lexeme, language_id)
);

-- Returns a text as words separated by spaces: without case, accents and punctuation, full-width
-- letters as normal ones. PostgreSQL's parser then sees no hyphens, URLs or file names. C++, C#, F#,
-- .NET and the first two numbers of a version become words of letters and digits: `3.11.2` is
-- `3dot11 2`, so that `3.11` finds it.
--
-- Migration 7 explains `max_length`. The replacements are limited by it as well.
create or replace function normalized_words(text, max_length integer default 150000) returns text
  language plpgsql immutable strict parallel safe set search_path from current as $$
declare
  plain text := $1;
begin
  -- Normalization can turn one character into eighteen: limit the length before the slow steps too.
  if octet_length(plain) > length(plain) then
    plain := unaccent('unaccent', left(normalize(plain, nfkc), 2 * max_length));
  end if;
  plain := lower(plain);
  if plain ~ '\mc\+\+|\m[cf]#|(^|[^a-z0-9])\.net\M' then
    plain := regexp_replace(plain, '\mc\+\+', 'cplusplus ', 'g');
    plain := regexp_replace(plain, '\m([cf])#', '\1sharp ', 'g');
    plain := regexp_replace(plain, '(^|[^a-z0-9])\.net\M', '\1dotnet', 'g');
  end if;
  if plain ~ '[0-9]\.[0-9]' then
    plain := regexp_replace(
      plain, '(^|[^0-9.])([0-9]{1,3})\.([0-9]{1,3})(?![0-9])', '\1 \2dot\3', 'g');
  end if;
  plain := left(
    regexp_replace(
      plain,
      U&'[\0001-\002f\003a-\0060\007b-\00bf\0300-\036f\2000-\206f\20a0-\20cf\2100-\2bff'
      '\2e00-\2e7f\3000-\303f\30fb\fe00-\fe6f\ff5f-\ff65\+01f000-\+01faff]+',
      ' ', 'g'),
    max_length);
  if plain ~ ('[' || unspaced_scripts() || ']') then
    return left(character_bigrams(plain), max_length);
  end if;
  return plain;
end $$;

-- For each dictionary of a language one with the same stems that keeps stop words: in the names of
-- events and tags they are names ("PyCon DE", "PyCon ES", "CI"). The configurations of languages
-- with another alphabet have the English stems for Latin letters.
do $$
declare
  name text;
begin
  for name in
    select distinct dictionary from language where dictionary <> 'simple'
    union
    select 'english'
    order by 1
  loop
    execute format('create text search dictionary %I (template = snowball, language = %I)',
                   name || '_all_words', name);
  end loop;
  for name in
    select distinct dictionary from language where dictionary <> 'simple' order by 1
  loop
    execute format('create text search configuration %I (copy = pg_catalog.%I)',
                   name || '_all_words', name);
    execute format('alter text search configuration %I alter mapping replace %I with %I',
                   name || '_all_words', name || '_stem', name || '_all_words');
    if name <> 'english' then
      execute format(
        'alter text search configuration %I alter mapping replace english_stem with %I',
        name || '_all_words', 'english_all_words');
    end if;
  end loop;
end $$;

-- Returns the configuration that has the stems of a dictionary and keeps its stop words.
create function all_words_of(dictionary text) returns regconfig language sql stable parallel safe
  return (case when $1 = 'simple' then $1 else $1 || '_all_words' end)::regconfig;

-- Returns a term as it is compared: the English stems of its words, whatever its language.
create function synonym_key(term text) returns text language sql stable parallel safe
begin atomic
  select string_agg(coalesce((ts_lexize('english_all_words', word))[1], word), ' ' order by index)
  from regexp_split_to_table(normalized_words(term), ' +') with ordinality as words (word, index)
  where word <> '';
end;

-- Groups of words and phrases that mean the same in a search. Editors replace them all at once.
create table synonym (
  key      text collate "C" primary key,  -- synonym_key(term)
  term     text    not null,
  group_id integer not null,
  position integer not null,              -- in the group
  unique (group_id, position)
);

insert into synonym (key, term, group_id, position)
select synonym_key(term), term, group_id, position
from unnest(array[
  'k8s, kubernetes',
  'postgres, postgresql, psql',
  'js, javascript',
  'ts, typescript',
  'node.js, nodejs',
  'ml, machine learning',
  'ai, artificial intelligence',
  'nlp, natural language processing',
  'llm, large language model',
  'i18n, internationalization, internationalisation',
  'l10n, localization, localisation',
  'a11y, accessibility',
  'o11y, observability',
  'db, database',
  'tdd, test driven development',
  'bdd, behavior driven development, behaviour driven development',
  'ddd, domain driven design',
  'ci, continuous integration',
  'drf, django rest framework',
  'gil, global interpreter lock',
  'gui, graphical user interface',
  'ui, user interface',
  'ux, user experience',
  'os, operating system',
  'oop, object oriented programming',
  'orm, object relational mapper',
  'regex, regexp, regular expression',
  'rpi, raspberry pi',
  'iot, internet of things',
  'vr, virtual reality',
  'wasm, webassembly',
  'oss, open source software',
  'foss, floss, free software',
  'qa, quality assurance',
  'devops, dev ops',
  'sklearn, scikit learn',
  'auth, authentication',
  'config, configuration',
  'docs, documentation',
  'repo, repository',
  'aws, amazon web services',
  'gcp, google cloud platform',
  'vscode, visual studio code',
  'py3, python3, python 3',
  'py2, python2, python 2',
  'pep8, pep 8',
  'color, colour',
  'behavior, behaviour',
  'license, licence',
  'website, web site',
  'dataset, data set',
  'dataframe, data frame',
  'timeseries, time series',
  'microservice, micro service',
  'serverless, faas, function as a service',
  'saas, software as a service'
]) with ordinality as groups (terms, group_id),
     regexp_split_to_table(terms, ', ') with ordinality as term_of_group (term, position);
