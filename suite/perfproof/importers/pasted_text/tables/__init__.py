"""Tables of every shape: cut from the text (`shapes`), their columns told apart (`table_columns`, `sides`), their numbers read with their
sides (`table_readings`, `headless_table`); lm_eval's are read as scores (`lm_eval_tables`). No other item of a text belongs here."""
