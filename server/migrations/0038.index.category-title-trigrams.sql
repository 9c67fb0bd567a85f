-- Replaced by the index of words (0033).
drop index concurrently if exists category_title_trigrams;
