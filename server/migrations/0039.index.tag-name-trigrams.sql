-- Replaced by the index of words (0033).
drop index concurrently if exists tag_name_trigrams;
