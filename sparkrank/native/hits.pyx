# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops for sums over the hits of each group up to every cut-off, in one pass and without sorting the rows.

The rows of a group are brought together, with relevant rows last. The position of a relevant row is one more than the
number of rows of its group with a higher score; its tie block has the rows with the same score. These numbers are found
by comparing rows, several at once, if few rows are relevant, and by bisection otherwise. Groups without equal scores
(``ties.h``) are summed by a shorter loop (``untied.h``), once for all groups with the same list
(``distinct_lists.h``). If tied rows are ordered by their items (``by_item.h``), all groups are summed by this loop.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

cdef extern from "vectors.h":
    void compare(const double* scores, int64_t count, double score, int64_t* above, int64_t* beside) nogil

cdef extern from "lists.h":
    int64_t padded(int64_t rows) nogil
    cppclass List:
        int32_t group, rows, hits, start
    cppclass Lists:
        vector[List] lists
        vector[double] gain
        vector[int32_t] number
        int64_t longest
        void bring(
            const int64_t* rows, const int64_t* hits, int64_t groups, const int32_t* codes, const double* scores,
            const uint8_t* relevant, const double* gains, bint numbered, bint only_hits, int64_t n, double* room
        ) except + nogil

cdef extern from "ties.h":
    cppclass Ties:
        void prepare(int64_t longest) except + nogil
        int64_t count(const double* scores, int64_t rows) nogil

cdef extern from "untied.h":
    void place_hits(
        const double* scores, int64_t room, int64_t others, int64_t rows, const double* gains, uint64_t* places,
        double* gain_at
    ) nogil
    cppclass Untied:
        vector[uint64_t] places
        vector[double] gain_at
        @staticmethod
        bint serves(int64_t relevant) nogil
        void prepare(
            int64_t longest, double alike, const double* discounts, const int64_t* cutoffs, int64_t cuts
        ) except + nogil
        int64_t sum_up(uint64_t places, double* sums, int64_t count) nogil
        int64_t sum_up(
            const double* scores, const double* gains, int64_t rows, int64_t room, int64_t others, uint64_t* first,
            double* sums, int64_t count
        ) nogil
        int64_t sum_up_placed(int64_t relevant, const double* gains, double* sums, int64_t count) nogil

cdef extern from "placed.h":
    cppclass Placed:
        void prepare(int64_t longest) except + nogil
        void place(
            const double* scores, int64_t others, int64_t rows, int64_t first, int32_t* positions, int64_t* numbers
        ) except + nogil

cdef extern from "by_item.h":
    cppclass Items:
        const int64_t* ends
        const uint8_t* texts
        const int64_t* judged
    cppclass ByItem:
        int64_t ranks, tied_pairs
        void prepare(int64_t longest, const Items& items) except + nogil
        void place_hits(
            const double* scores, const double* gains, const int32_t* numbers, int64_t others, int64_t rows,
            uint64_t* places, double* gain_at
        ) nogil

cdef extern from "score_sort.h":
    cppclass ScoreSort:
        @staticmethod
        void sort(double* scores, int64_t count) except + nogil

cdef extern from "distinct_lists.h":
    cppclass Likeness:
        uint64_t hits
        int64_t rows

cdef extern from "numbers.h":
    cppclass Numbers[Value]:
        vector[Value] distinct
        void number(const Value* values, int64_t count, int32_t* numbers) except + nogil

cdef enum:
    FEW = 24  # with up to this many relevant rows, all other rows are compared with each of them
    INSERTED = 64  # up to this many relevant rows are sorted by insertion
    COMPARED = 64  # rows that a vector loop compares with one score while bisection finds the place of one row
    IN_A_WORD = 64  # positions
    ROWS_BITS = 32  # bits for the number of rows; the bits above are for that of unlisted relevant rows
    UNIQUE = -1  # replaces the number of rows if no other group can have the same list
    TIED = -2  # replaces the number of rows if the group has tied rows
    # The indices of :class:`sparkrank.ranking.hit_sums.Sum`.
    COUNT = 0
    PRECISION = 1
    ANY = 2
    FIRST = 3
    GAIN = 4
    IDEAL = 5

cdef extern from "hits.h":
    struct Hit:
        double score
        double gain
    void put_highest_first(Hit* hits, int64_t count) nogil
    void put_richest_first(double* gains, int64_t count) nogil


def sum_hits(
    const int32_t[::1] codes,
    const int64_t[::1] sizes,
    const int64_t[::1] hits,
    const int64_t[::1] unlisted,
    const double[::1] scores,
    const uint8_t[::1] relevant,
    bint only_hits,
    double alike,
    const double[::1] gains,
    const int64_t[::1] starts,
    const double[::1] unlisted_gains,
    const double[::1] discounts,
    const int64_t[::1] cutoffs,
    const int64_t[::1] item_ends,
    const uint8_t[::1] items,
    const int64_t[::1] judged,
    const int64_t[::1] firsts,
    int32_t[::1] positions,
    int64_t[::1] placed,
    double[::1] room,
    int32_t[::1] number,
    int64_t[::1] rows_of_list,
    int64_t[::1] hits_of_list,
    int64_t[::1] relevant_of_list,
    uint64_t[::1] places,
    double[:, :, ::1] sums,
    double[::1] mid_ranks,
    int64_t[::1] tied_pairs,
):
    """Fill in the ``number`` of each group's distinct list, and the sums over the hits of each distinct list.

    Returns the number of distinct lists and the number of tied rows. Groups share a distinct list if their lists have
    the same size and the same positions of hits.

    ``codes`` (n) has the group of each row, ``scores`` (n) the scores, and ``relevant`` (n) the flags of relevant rows.
    With ``only_hits``, groups without a relevant row are not searched for tied rows, and tied rows there are not
    counted. Relevant rows all have the gain ``alike``, or each has its own in ``gains`` (n, else empty). For each
    group, ``sizes`` has the number of rows, ``hits`` the number of relevant rows, and ``unlisted`` (groups, else empty)
    the number of further relevant rows without a score. If gains differ, ``unlisted_gains`` has the gains of the
    latter, and those of a group begin at one of ``starts`` (groups + 1). ``cutoffs`` ascend, and the last is beyond
    every list. ``room`` is scratch memory for the scores: n values and three more per group.

    Tied rows share their positions or, if ``item_ends`` is not empty, are ordered by their items, descending.
    ``item_ends`` are the offsets of texts in the bytes ``items``, one text for each judged row. ``judged`` (n, or empty
    if all judged rows are listed) has the index of each row among the judged rows.

    If ``firsts`` (groups, else empty) has the number of relevant rows in earlier groups, the relevant rows are placed:
    ``positions`` and ``placed`` (an entry for each) have their positions and their numbers, group by group, in the
    order of positions. Rows are numbered by group and then in the order of the input. Tied rows are not placed rightly.

    The results of each distinct list, with room for as many lists as groups, are the numbers of its rows, of its hits,
    and of its relevant rows with the unlisted ones; ``places``, which marks hits among the first 64 positions as bits,
    the first position as the highest bit (0 if rows are tied or very many are relevant); ``sums`` (6, cut-offs, lists);
    ``mid_ranks``, the sum of the mid-ranks of relevant rows; and ``tied_pairs``, the number of tied pairs of a relevant
    and another row.
    """
    cdef Py_ssize_t n = codes.shape[0], groups = sizes.shape[0], step, each, count
    cdef int64_t tied = 0, tied_here, others, most = 0, more
    cdef const double* scores_here
    cdef const double* gains_here
    cdef bint differ = gains.shape[0] > 0, are_more = unlisted.shape[0] > 0
    cdef const List* listed
    cdef vector[int32_t] number_at
    cdef vector[Likeness] likeness
    cdef Lists lists
    cdef Room of
    cdef Ties ties
    cdef Untied untied
    cdef bint are_by_item = item_ends.shape[0] > 0, are_placed = firsts.shape[0] > 0
    cdef int64_t start = 0
    cdef Placed places_of_hits
    cdef Items all_items
    cdef ByItem by_item
    cdef Numbers[Likeness] lists_apart
    cdef vector[int32_t] first  # the first group of each distinct list; lists are numbered by first occurrence
    with nogil:
        lists.bring(
            &sizes[0], &hits[0], groups, &codes[0], &scores[0], &relevant[0], &gains[0] if differ else NULL, are_by_item,
            only_hits, n, &room[0]
        )
        most = lists.longest
        for step in range(groups if are_more else 0):
            most = max(most, hits[step] + unlisted[step])
        _prepare(of, most, alike, discounts)
        ties.prepare(lists.longest)
        untied.prepare(lists.longest, alike, &discounts[0], &cutoffs[0], cutoffs.shape[0])
        if are_by_item:
            all_items.ends = &item_ends[0]
            all_items.texts = &items[0]
            all_items.judged = &judged[0] if judged.shape[0] else NULL
            by_item.prepare(lists.longest, all_items)
        if are_placed:
            places_of_hits.prepare(lists.longest)
        likeness.resize(groups)
        for step in range(groups):
            listed = &lists.lists[step]
            scores_here = &room[listed.start]
            tied_here = 0 if only_hits and not listed.hits else ties.count(scores_here, listed.rows)
            tied += tied_here
            if are_placed and listed.hits:
                places_of_hits.place(
                    scores_here, listed.rows - listed.hits, listed.rows, firsts[listed.group], &positions[start],
                    &placed[start]
                )
                start += listed.hits
            if tied_here == 0 and not differ and (listed.rows <= IN_A_WORD or (only_hits and not listed.hits)):
                likeness[step].rows = listed.rows
                if are_more:
                    likeness[step].rows |= unlisted[listed.group] << ROWS_BITS
                likeness[step].hits = 0
                place_hits(
                    scores_here, padded(listed.rows), listed.rows - listed.hits, listed.rows, NULL,
                    &likeness[step].hits, NULL
                )
            else:  # no other group can share this list
                likeness[step].rows = TIED if tied_here else UNIQUE
                likeness[step].hits = step
        number_at.resize(groups)
        lists_apart.number(likeness.data(), groups, number_at.data())
        count = lists_apart.distinct.size()
        first.resize(count + 1)
        each = 0
        for step in range(groups):
            number[lists.lists[step].group] = number_at[step]
            first[each] = <int32_t>step
            each += number_at[step] == each
        for each in range(count):
            step = first[each]
            listed = &lists.lists[step]
            scores_here = &room[listed.start]
            gains_here = lists.gain.data() + listed.start if differ else NULL
            others = listed.rows - listed.hits
            rows_of_list[each] = listed.rows
            hits_of_list[each] = listed.hits
            more = unlisted[listed.group] if are_more else 0
            relevant_of_list[each] = listed.hits + more
            places[each] = 0
            tied_pairs[each] = 0
            if likeness[step].rows >= 0:
                places[each] = likeness[step].hits
                mid_ranks[each] = <double>untied.sum_up(places[each], &sums[0, 0, each], groups)
            elif likeness[step].rows == UNIQUE and untied.serves(listed.hits):
                mid_ranks[each] = <double>untied.sum_up(
                    scores_here, gains_here, listed.rows, padded(listed.rows), others, &places[each],
                    &sums[0, 0, each], groups
                )
            elif likeness[step].rows == TIED and are_by_item:
                by_item.place_hits(
                    scores_here, gains_here, lists.number.data() + listed.start, others, listed.rows,
                    untied.places.data(), untied.gain_at.data()
                )
                untied.sum_up_placed(listed.hits, gains_here, &sums[0, 0, each], groups)
                mid_ranks[each] = <double>by_item.ranks / 2
                tied_pairs[each] = by_item.tied_pairs
            else:
                _sum_group(
                    of, scores_here, gains_here, listed.rows, others, &discounts[0], cutoffs, each, sums,
                    &mid_ranks[each], &tied_pairs[each]
                )
            _sum_ideal(
                of, gains_here, others, listed.rows, &unlisted_gains[starts[listed.group]] if differ and more else NULL,
                more, &discounts[0], cutoffs, each, sums
            )
    return count, tied


cdef struct Room:
    double alike
    vector[Hit] hits
    vector[int64_t] above  # for the first hit of each score, the rows of its group with a higher score
    vector[int64_t] beside  # for the same hit, the rows of its group with the same score
    vector[double] chance
    vector[double] earned
    vector[double] best  # the ideal gain of each number of hits with equal gains


cdef int _prepare(Room& of, int64_t longest, double alike, const double[::1] discounts) except -1 nogil:
    """Allocate memory for groups of up to ``longest`` rows, and compute the ideal gains of equal gains."""
    cdef Py_ssize_t row
    of.alike = alike
    of.hits.resize(longest)
    of.above.resize(longest)
    of.beside.resize(longest)
    of.chance.resize(longest)
    of.earned.resize(longest)
    of.best.resize(longest + 1)
    for row in range(longest):
        of.best[row + 1] = of.best[row] + alike * discounts[row + 1]
    return 0


cdef void _sum_group(
    Room& of, const double* scores, const double* gains, int64_t rows, int64_t others, const double* discounts,
    const int64_t[::1] cutoffs, Py_ssize_t at, double[:, :, ::1] sums, double* mid_ranks, int64_t* tied_pairs
) noexcept nogil:
    """Compute the sums of one group. The first ``others`` of its ``rows`` are not relevant."""
    cdef int64_t relevant = rows - others, hit = 0, behind, inside, tied, before, step, position, ranks = 0, pairs = 0
    cdef Py_ssize_t cut = 0, cuts = cutoffs.shape[0]
    cdef double count = 0, precision = 0, any_hit = 0, first = 0, got = 0
    cdef double amount, probability, through, leads
    cdef Hit* hits = &of.hits[0]
    if relevant:
        _stand(of, scores, gains, others, relevant)
    while hit < relevant:
        behind = hit + 1
        amount = hits[hit].gain
        while behind < relevant and hits[behind].score == hits[hit].score:
            amount += hits[behind].gain
            behind += 1
        inside = behind - hit
        tied = of.beside[hit]
        before = of.above[hit]
        ranks += inside * (2 * before + tied + 1)
        pairs += inside * (tied - inside)
        if tied > 1:
            amount /= tied
        if tied == inside:
            for step in range(inside):
                position = before + step + 1
                while position > cutoffs[cut]:
                    _keep(sums, cut, at, count, precision, any_hit, first, got)
                    cut += 1
                got += amount * discounts[position]
                count += 1.0
                precision += <double>(hit + 1 + step) / <double>position
                if hit == 0 and step == 0:
                    any_hit = 1.0
                    first = 1.0 / <double>position
        else:
            probability = <double>inside / <double>tied
            if hit == 0:
                _first_chances(&of.chance[0], inside, tied)
            for step in range(tied):
                position = before + step + 1
                while position > cutoffs[cut]:
                    _keep(sums, cut, at, count, precision, any_hit, first, got)
                    cut += 1
                got += amount * discounts[position]
                count += probability
                through = <double>(hit + 1) + <double>(step * (inside - 1)) / <double>(tied - 1)
                precision += probability * through / <double>position
                if hit == 0:
                    leads = of.chance[step]
                    any_hit += leads
                    first += leads / <double>position
                    if step == tied - 1:
                        any_hit = 1.0  # avoids the rounding of the block's chances
        hit = behind
    while cut < cuts:
        _keep(sums, cut, at, count, precision, any_hit, first, got)
        cut += 1
    mid_ranks[0] = <double>ranks / 2
    tied_pairs[0] = pairs


cdef inline void _sum_ideal(
    Room& of, const double* gains, int64_t others, int64_t rows, const double* unlisted, int64_t more,
    const double* discounts, const int64_t[::1] cutoffs, Py_ssize_t at, double[:, :, ::1] sums
) noexcept nogil:
    """Compute the discounted gain of one group's ideal list. The first ``others`` of its ``rows`` are not relevant.

    The group has ``more`` relevant rows without a score, whose gains, if gains differ, are in ``unlisted``.
    """
    cdef int64_t listed = rows - others, relevant = listed + more, hit = 0
    cdef Py_ssize_t cut = 0, cuts = cutoffs.shape[0]
    cdef double ideal = 0.0
    if gains == NULL:
        for cut in range(cuts):
            sums[IDEAL, cut, at] = of.best[min(relevant, cutoffs[cut])]
        return
    for hit in range(listed):
        of.earned[hit] = gains[others + hit]
    for hit in range(more):
        of.earned[listed + hit] = unlisted[hit]
    put_richest_first(of.earned.data(), relevant)
    for hit in range(relevant):
        while hit >= cutoffs[cut]:
            sums[IDEAL, cut, at] = ideal
            cut += 1
        ideal += of.earned[hit] * discounts[hit + 1]
    while cut < cuts:
        sums[IDEAL, cut, at] = ideal
        cut += 1


cdef inline void _keep(
    double[:, :, ::1] sums, Py_ssize_t cut, Py_ssize_t at, double count, double precision, double any_hit,
    double first, double got
) noexcept nogil:
    """Store the sums up to the cut-off with the index ``cut``."""
    sums[COUNT, cut, at] = count
    sums[PRECISION, cut, at] = precision
    sums[ANY, cut, at] = any_hit
    sums[FIRST, cut, at] = first
    sums[GAIN, cut, at] = got


cdef void _stand(
    Room& of, const double* scores, const double* gains, int64_t others, int64_t relevant
) noexcept nogil:
    """Sort relevant rows, which follow the ``others``, by score, and count the rows above and tied with each."""
    cdef int64_t row, to, low, high, middle, passed = 0
    cdef int64_t* above = &of.above[0]
    cdef int64_t* beside = &of.beside[0]
    cdef Hit* hits = &of.hits[0]
    cdef Hit one
    cdef bint are_compared = relevant <= FEW or relevant * (others + relevant) <= COMPARED * others
    for row in range(relevant):
        one.score = scores[others + row]
        one.gain = of.alike if gains == NULL else gains[others + row]
        to = row
        while relevant <= INSERTED and to > 0 and hits[to - 1].score < one.score:
            hits[to] = hits[to - 1]
            to -= 1
        hits[to] = one
    if relevant > INSERTED:
        put_highest_first(hits, relevant)
    if are_compared:
        for row in range(relevant):
            compare(scores, padded(others + relevant), hits[row].score, &above[row], &beside[row])
        return
    for row in range(relevant):
        above[row] = beside[row] = 0
    for row in range(others):  # up to the first hit that is not higher
        low = 0
        high = relevant
        while low < high:
            middle = (low + high) >> 1
            if hits[middle].score > scores[row]:
                low = middle + 1
            else:
                high = middle
        if low < relevant:
            if hits[low].score == scores[row]:
                beside[low] += 1
            else:
                above[low] += 1
    row = 0
    while row < relevant:
        to = row + 1
        while to < relevant and hits[to].score == hits[row].score:
            to += 1
        passed += above[row]
        above[row] = passed + row
        passed += beside[row]
        beside[row] += to - row
        row = to


def sort_gains(const int64_t[::1] ends, double[::1] gains):
    """Sort the ``gains`` of each group in place, descending. ``ends`` has the end of each group in ``gains``."""
    cdef Py_ssize_t group
    cdef int64_t start = 0
    with nogil:
        for group in range(ends.shape[0]):
            if ends[group] > start:
                put_richest_first(&gains[start], ends[group] - start)
            start = ends[group]


def sort_scores(double[::1] scores):
    """Sort ``scores`` in place, ascending. They must not contain NaN."""
    if scores.shape[0]:
        with nogil:
            ScoreSort.sort(&scores[0], scores.shape[0])


cdef struct Block:
    int64_t before  # rows with a higher score
    int64_t tied  # rows with the same score
    int64_t inside  # relevant rows among the tied rows
    double amount  # the expected gain of each tied row


cdef class LargeList:
    """The sums over the hits of one group that is too large for :func:`sum_hits`, from its sorted scores.

    Scores arrive in ranges, the highest first. Only tie blocks with a relevant row are stored; other rows are only
    counted. Discounts arrive for one range of positions at a time, because those of all positions would take as much
    memory as the scores. The sums have the same bits as those of ``sum_hits``.
    """

    cdef vector[Block] blocks
    cdef readonly int64_t tied_rows, tied_pairs
    cdef readonly double mid_ranks
    cdef int64_t before, ranks, relevant, hit, step, ideal_hit
    cdef size_t block
    cdef Py_ssize_t cut, ideal_cut
    cdef double count, precision, any_hit, first, got, ideal
    cdef vector[double] chance

    def add(self, const double[::1] others, const double[::1] hits, const double[::1] gains, double alike):
        """Add the scores of relevant rows (``hits``) and of all ``others`` in a range, both ascending.

        All scores must be lower than those of earlier calls. The gains of relevant rows are in ``gains``, or all equal
        ``alike`` if ``gains`` is empty.
        """
        cdef Py_ssize_t other = others.shape[0] - 1, hit = hits.shape[0] - 1
        cdef double score
        cdef bint differ = gains.shape[0] > 0
        cdef Block block
        self.relevant += hits.shape[0]
        with nogil:
            while other >= 0 or hit >= 0:
                score = others[other] if hit < 0 or (other >= 0 and others[other] > hits[hit]) else hits[hit]
                block.before, block.tied, block.inside, block.amount = self.before, 0, 0, 0.0
                while hit >= 0 and hits[hit] == score:
                    block.amount += gains[hit] if differ else alike
                    block.inside += 1
                    hit -= 1
                block.tied = block.inside
                while other >= 0 and others[other] == score:
                    block.tied += 1
                    other -= 1
                self.before += block.tied
                if block.tied > 1:
                    self.tied_rows += block.tied
                    block.amount /= block.tied
                if block.inside:
                    self.ranks += block.inside * (2 * block.before + block.tied + 1)
                    self.tied_pairs += block.inside * (block.tied - block.inside)
                    self.blocks.push_back(block)
            if self.chance.empty() and self.blocks.size() and self.blocks[0].tied > self.blocks[0].inside:
                self.chance.resize(self.blocks[0].tied)
                _first_chances(&self.chance[0], self.blocks[0].inside, self.blocks[0].tied)
        self.mid_ranks = <double>self.ranks / 2

    def advance(
        self, const double[::1] discounts, int64_t start, const double[::1] best, double alike,
        const int64_t[::1] cutoffs, double[:, :, ::1] sums, Py_ssize_t at,
    ):
        """Add the positions from ``start`` on, one for each of ``discounts``, to ``sums`` (6, cut-offs, groups).

        Returns whether more positions are needed. The group has the index ``at`` in ``sums``. ``best`` has the gains of
        relevant rows in descending order; it is empty if all have the gain ``alike``.
        """
        cdef bint more
        with nogil:
            more = self._hits(discounts, start, cutoffs, sums, at)
            more |= self._ideal(discounts, start, best, alike, cutoffs, sums, at)
        return more

    cdef bint _hits(
        self, const double[::1] discounts, int64_t start, const int64_t[::1] cutoffs, double[:, :, ::1] sums,
        Py_ssize_t at
    ) noexcept nogil:
        cdef int64_t position, end = start + discounts.shape[0]
        cdef double probability, through, leads
        cdef const Block* block
        while self.block < self.blocks.size():
            block = &self.blocks[self.block]
            probability = <double>block.inside / <double>block.tied
            while self.step < block.tied:
                position = block.before + self.step + 1
                if position >= end:
                    return True
                while position > cutoffs[self.cut]:
                    self._keep(sums, at)
                self.got += block.amount * discounts[position - start]
                if block.tied == block.inside:
                    self.count += 1.0
                    self.precision += <double>(self.hit + 1 + self.step) / <double>position
                    if self.hit == 0 and self.step == 0:
                        self.any_hit = 1.0
                        self.first = 1.0 / <double>position
                else:
                    self.count += probability
                    through = <double>(self.hit + 1)
                    through = through + <double>(self.step * (block.inside - 1)) / <double>(block.tied - 1)
                    self.precision += probability * through / <double>position
                    if self.hit == 0:
                        leads = self.chance[self.step]
                        self.any_hit += leads
                        self.first += leads / <double>position
                        if self.step == block.tied - 1:
                            self.any_hit = 1.0  # avoids the rounding of the block's chances
                self.step += 1
            self.hit += block.inside
            self.step = 0
            self.block += 1
        while self.cut < cutoffs.shape[0]:
            self._keep(sums, at)
        return False

    cdef void _keep(self, double[:, :, ::1] sums, Py_ssize_t at) noexcept nogil:
        _keep(sums, self.cut, at, self.count, self.precision, self.any_hit, self.first, self.got)
        self.cut += 1

    cdef bint _ideal(
        self, const double[::1] discounts, int64_t start, const double[::1] best, double alike,
        const int64_t[::1] cutoffs, double[:, :, ::1] sums, Py_ssize_t at
    ) noexcept nogil:
        cdef int64_t end = start + discounts.shape[0]
        cdef bint differ = best.shape[0] > 0
        while self.ideal_hit < self.relevant:
            if self.ideal_hit + 1 >= end:
                return True
            while self.ideal_hit >= cutoffs[self.ideal_cut]:
                sums[IDEAL, self.ideal_cut, at] = self.ideal
                self.ideal_cut += 1
            self.ideal += (best[self.ideal_hit] if differ else alike) * discounts[self.ideal_hit + 1 - start]
            self.ideal_hit += 1
        while self.ideal_cut < cutoffs.shape[0]:
            sums[IDEAL, self.ideal_cut, at] = self.ideal
            self.ideal_cut += 1
        return False


cdef void _first_chances(double* chance, int64_t inside, int64_t tied) noexcept nogil:
    """Fill in the probability of each of ``tied`` tied rows, of which ``inside`` are relevant, to be the first hit.

    Products are computed in the order of :func:`sparkrank.numeric.segments.running_product`.
    """
    cdef int64_t row, reach = 1
    chance[0] = 1.0
    for row in range(1, tied):
        chance[row] = <double>max(tied - inside - row + 1, 0) / <double>(tied - row + 1)
    while reach < tied:
        for row in range(tied - 1, reach - 1, -1):
            chance[row] *= chance[row - reach]
        reach *= 2
    for row in range(tied):
        chance[row] = chance[row] * inside / <double>(tied - row)
