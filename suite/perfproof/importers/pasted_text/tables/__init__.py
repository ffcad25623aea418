"""Tables of every shape: cut from the text (`table_shapes`, `aligned_tables`), their columns told apart (`table_columns`, `sided_columns`),
their numbers read with their sides (`table_readings`, `headless_table`); lm_eval's are read as scores (`lm_eval_tables`). No other item of
a text belongs here."""
