"""Near-duplicates beside public tools, and by brute force.

    similar_peers.py make ROWS FILE         lines of 40 words, of which some are near others
    similar_peers.py truth FILE T [C]       "i j shared" of each pair (i < j) at Jaccard T (or with the
                                            earlier row contained at C), by brute force
    similar_peers.py nearest FILE OTHER T   "i shared n" of each row: the nearest line of OTHER, by brute force
    similar_peers.py bands FILE             42 bands a row
    similar_peers.py rensa FILE T PAIRS     seconds, pairs, recall, precision against PAIRS
    similar_peers.py datasketch FILE T PAIRS
"""
import random, sys, time, unicodedata

import xxhash


def normal(text):
    text = "".join(c.lower() for c in unicodedata.normalize("NFKC", text))
    return " ".join(text.split())


def shingle_texts(text):
    words = text.split(" ") if text else []
    if len(words) >= 5:
        return {" ".join(words[i:i + 5]) for i in range(len(words) - 4)}
    if len(text) >= 5:
        return {text[i:i + 5] for i in range(len(text) - 4)}
    return {text} if text else set()


def shingles(text):
    return {xxhash.xxh3_64_intdigest(s.encode()) for s in shingle_texts(text)}


def lines(path):
    return open(path, encoding="utf-8", errors="replace", newline="\n").read().split("\n")[:-1]


def make(n, path):
    draw = random.Random(7)
    vocabulary = ["".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(draw.randint(2, 9)))
                  for _ in range(20000)]
    rows = []
    for i in range(n):
        if rows and draw.random() < 0.1:
            words = rows[draw.randrange(len(rows))].split()
            for _ in range(draw.choice([0, 1, 1, 2, 3, 8])):
                # near the end, so that one change costs fewer shingles
                at = len(words) - 1 - min(int(draw.expovariate(0.3)), len(words) - 1)
                words[at] = draw.choice(vocabulary)
            rows.append(" ".join(words))
        else:
            rows.append(" ".join(vocabulary[min(int(draw.paretovariate(0.3)), 20000) - 1]
                                 if draw.random() < 0.5 else draw.choice(vocabulary)
                                 for _ in range(40)))
    open(path, "w").write("\n".join(rows) + "\n")


def truth(path, t, c):
    sets = [shingles(normal(line)) for line in lines(path)]
    having = {}
    for j, b in enumerate(sets):
        counts = {}
        for x in b:
            for i in having.get(x, ()):
                counts[i] = counts.get(i, 0) + 1
        for i in sorted(counts):
            shared, a = counts[i], sets[i]
            if shared / (len(a) + len(b) - shared) >= t or (c and len(a) >= 8 and shared / len(a) >= c):
                print(i, j, shared)
        for x in b:
            having.setdefault(x, []).append(j)


def nearest(path, other, t):
    others = [shingles(normal(line)) for line in lines(other)]
    for i, line in enumerate(lines(path)):
        a, best = shingles(normal(line)), None
        for b in others:
            shared = len(a & b)
            jaccard = shared / (len(a) + len(b) - shared)
            if jaccard >= t and (best is None or jaccard > best[0]):
                best = jaccard, shared, len(b)
        if best:
            print(i, best[1], best[2])


def constants():
    state, out = 1, []
    for _ in range(504):
        state = (state + 0x9e3779b97f4a7c15) % 2**64
        z = state
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 % 2**64
        z = (z ^ z >> 27) * 0x94d049bb133111eb % 2**64
        out.append((z ^ z >> 31) % 2**32)
    return [a | 1 for a in out[0::2]], out[1::2]


def bands(path):
    a, b = constants()
    for line in lines(path):
        xs = [s % 2**32 for s in shingles(normal(line))]
        least = [min(((f * x + g) % 2**32 for x in xs), default=2**32 - 1) for f, g in zip(a, b)]
        print(*(xxhash.xxh3_64_intdigest(b"".join(m.to_bytes(4, "little") for m in least[6 * j:6 * j + 6]),
                                         seed=j) for j in range(42)))


def judge(name, seconds, found, path):
    true = {tuple(map(int, line.split()[:2])) for line in open(path)}
    hits = len(found & true)
    print(f"{seconds:.3f} {len(found)} {hits / max(len(true), 1):.5f} {hits / max(len(found), 1):.5f}")


def rensa(path, t, pairs):
    from rensa import RMinHash, RMinHashLSH
    texts = [shingle_texts(normal(line)) for line in lines(path)]
    begin, found, signatures = time.process_time(), set(), []
    lsh = RMinHashLSH(threshold=t, num_perm=128, num_bands=16)
    for i, row in enumerate(texts):
        signature = RMinHash(num_perm=128, seed=42)
        signature.update(list(row))
        for j in lsh.query(signature):
            if signatures[j].jaccard(signature) >= t:
                found.add((j, i))
        lsh.insert(i, signature)
        signatures.append(signature)
    judge("rensa", time.process_time() - begin, found, pairs)


def datasketch(path, t, pairs):
    from datasketch import MinHash, MinHashLSH
    texts = [shingle_texts(normal(line)) for line in lines(path)]
    begin, found = time.process_time(), set()
    lsh = MinHashLSH(threshold=t, num_perm=128)
    for i, row in enumerate(texts):
        signature = MinHash(num_perm=128, seed=42)
        signature.update_batch([s.encode() for s in row])
        found.update((int(j), i) for j in lsh.query(signature))
        lsh.insert(str(i), signature)
    judge("datasketch", time.process_time() - begin, found, pairs)


what, arguments = sys.argv[1], sys.argv[2:]
if what == "make":
    make(int(arguments[0]), arguments[1])
elif what == "truth":
    truth(arguments[0], float(arguments[1]), float(arguments[2]) if len(arguments) > 2 else 0)
elif what == "nearest":
    nearest(arguments[0], arguments[1], float(arguments[2]))
elif what == "bands":
    bands(arguments[0])
else:
    {"rensa": rensa, "datasketch": datasketch}[what](arguments[0], float(arguments[1]), arguments[2])
