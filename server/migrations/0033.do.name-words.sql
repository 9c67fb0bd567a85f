-- Autocomplete finds speakers, categories and tags by the beginnings of words of their names
-- (docs/decisions/0060-autocomplete.md). Indexes of words (0034 to 0036) replace those of trigrams:
-- they find a word in a sorted list, where trigrams had each similar name compared.

-- Returns the words of a name as the search has them.
create function name_words(name text) returns tsvector
  language sql immutable strict parallel safe
  return to_tsvector('simple'::regconfig, normalized_words($1));

-- Returns a tsquery for names in which each of these words is the beginning of a word. Looks at so
-- many different words at most, the longest: each short beginning reads a part of the index. Words
-- are cut, because a lexeme has less than 2 KB.
create function name_prefix_query(words text, max_words integer) returns tsquery
  language sql stable strict parallel safe
begin atomic
  select string_agg('''' || replace(word, '''', '''''') || ''':*', ' & ')::tsquery
  from (select distinct left(word, 500) as word, length(left(word, 500))
        from regexp_split_to_table(normalized_words($1), ' +') as words (word)
        where word <> ''
        order by length(left(word, 500)) desc, word
        limit $2) as longest;
end;
