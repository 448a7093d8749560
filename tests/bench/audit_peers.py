"""The Python side of the bench of the audit; run in the venv that the bench makes.

  audit_peers.py FOLDER ROWS MAX_LENGTH     the first rows of FOLDER/train.jsonl rendered, tokenised,
                                            masked to the assistant's turns and cut, as TRL does it row
                                            by row: processor seconds (nothing of the start), tokens
                                            before the cut, supervised tokens after it
"""
import itertools
import json
import sys
import time


def main(folder, n_rows, max_length):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    n_tokens = n_supervised = 0
    begun = time.process_time()
    with open(folder + "/train.jsonl", encoding="utf-8") as f:
        for line in itertools.islice(f, n_rows):
            row = tokenizer.apply_chat_template(
                json.loads(line)["messages"], tokenize=True, return_dict=True,
                return_assistant_tokens_mask=True)
            ids, mask = row["input_ids"], row["assistant_masks"]
            n_tokens += len(ids)
            labels = [id if kept else -100 for id, kept in zip(ids, mask)][:max_length]
            n_supervised += sum(label != -100 for label in labels)
    print("%.3f %d %d" % (time.process_time() - begun, n_tokens, n_supervised))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
