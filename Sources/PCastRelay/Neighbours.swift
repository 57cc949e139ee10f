import PCastMedia

/// The other shards, as one of them sees them: where their peers are, and what waits to be handed over to each.
struct Neighbours {
    /// Batches for one neighbour at most, where there is one alone; what finds no room in them is lost, like a datagram, and
    /// counted.
    static let maximumBatches = 64
    /// Where there are many; one that stands still costs the others nothing.
    private static let leastBatches = 4
    /// A neighbour that has so many to read yet is handed full ones alone: it would get one of a packet or two in each turn,
    /// and the room for minutes were gone in a second.
    private static let unreadLimit = 2

    /// What goes to one neighbour.
    private struct Lane {
        var open: ParcelBatch?
        var full: [ParcelBatch] = []
        /// Handed over, and not given back.
        var unread = 0

        var count: Int { unread + full.count + (open == nil ? 0 : 1) }
    }

    /// What one neighbour is asked about unknown sources. Apart from what it is given, so that questions never take the room
    /// of media.
    private struct Questions {
        var open: ParcelBatch?
        /// Handed over, and not given back.
        var isUnread = false
    }

    /// Batches of questions for one neighbour at a time.
    static let maximumQuestionBatches = 1
    /// Questions in a second, and at once. A peer that moves needs one that comes through.
    static let questionsPerSecond: Int64 = 200
    static let questionBurst: Int64 = 100

    let shard: Shard
    private let maximumPaths: Int
    private let laneCapacity: Int
    /// The neighbour whose peer has passed a check on that path, or is asked there.
    private(set) var paths: [NetworkPath: Int] = [:]
    private var lanes: [Lane]
    private var questions: [Questions]
    /// When all questions may be asked at once again.
    private var questionsRestored = Instant(nanoseconds: 0)
    /// What was not asked, having come too often.
    private(set) var unasked = 0
    private var spare: [ParcelBatch] = []
    /// What found no room.
    private(set) var lost = 0

    /// - Parameter maximumPeers: of each shard.
    init(of shard: Shard, maximumPeers: Int) {
        self.shard = shard
        maximumPaths = shard.count * maximumPeers * 2
        lanes = Array(repeating: Lane(), count: shard.count)
        questions = Array(repeating: Questions(), count: shard.count)
        laneCapacity = max(Self.maximumBatches / max(shard.count - 1, 1), Self.leastBatches)
    }

    var exist: Bool { !shard.isAlone }

    var others: some Sequence<Int> { (0..<shard.count).lazy.filter { [own = shard.number] in $0 != own } }

    // MARK: Paths

    mutating func note(_ path: NetworkPath, of neighbour: Int) {
        guard paths[path] != nil || paths.count < maximumPaths else { return }
        paths[path] = neighbour
    }

    mutating func forget(_ path: NetworkPath, of neighbour: Int) {
        if paths[path] == neighbour { paths[path] = nil }
    }

    // MARK: Parcels

    /// The batch of a neighbour's in which there is room for one more parcel; nil when there is none.
    private mutating func batch(for neighbour: Int, _ byteCount: Int) -> ParcelBatch? {
        if let batch = lanes[neighbour].open {
            if batch.hasRoom(for: byteCount) { return batch }
            lanes[neighbour].full.append(batch)
            lanes[neighbour].open = nil
        }
        guard lanes[neighbour].count < laneCapacity else {
            lost += 1
            return nil
        }
        let batch = spare.popLast() ?? ParcelBatch()
        batch.reader = neighbour
        lanes[neighbour].open = batch
        return batch
    }

    mutating func give(_ parcel: ParcelBatch.Parcel, to neighbour: Int) {
        batch(for: neighbour, 0)?.append(parcel)
    }

    mutating func give(
        _ bytes: UnsafeRawBufferPointer, to neighbour: Int, as parcel: (Range<Int>) -> ParcelBatch.Parcel
    ) {
        guard let batch = batch(for: neighbour, bytes.count) else { return }
        batch.append(parcel(batch.copy(bytes)))
    }

    // MARK: Questions

    /// Whether one more question may be asked; counts as asked when true.
    mutating func mayAsk(at now: Instant) -> Bool {
        let interval = TimeSpan.seconds(1) / Self.questionsPerSecond
        let restored = max(questionsRestored, now) + interval
        guard restored - now <= interval * Self.questionBurst else {
            unasked += 1
            return false
        }
        questionsRestored = restored
        return true
    }

    mutating func ask(
        _ bytes: UnsafeRawBufferPointer, _ neighbour: Int, as parcel: (Range<Int>) -> ParcelBatch.Parcel
    ) {
        if questions[neighbour].open == nil {
            let batch = spare.popLast() ?? ParcelBatch()
            batch.reader = neighbour
            batch.isOfQuestions = true
            questions[neighbour].open = batch
        }
        guard let batch = questions[neighbour].open, batch.hasRoom(for: bytes.count) else {
            unasked += 1
            return
        }
        batch.append(parcel(batch.copy(bytes)))
    }

    private mutating func pollQuestions() -> (shard: Int, batch: ParcelBatch)? {
        for neighbour in questions.indices where !questions[neighbour].isUnread {
            guard let batch = questions[neighbour].open else { continue }
            questions[neighbour] = Questions(open: nil, isUnread: true)
            return (neighbour, batch)
        }
        return nil
    }

    /// A batch that is to be brought to a neighbour; nil when there is none more.
    mutating func poll() -> (shard: Int, batch: ParcelBatch)? {
        for neighbour in lanes.indices {
            if !lanes[neighbour].full.isEmpty { return handOver(lanes[neighbour].full.removeFirst()) }
            guard lanes[neighbour].unread < Self.unreadLimit, let batch = lanes[neighbour].open, !batch.isEmpty else {
                continue
            }
            lanes[neighbour].open = nil
            return handOver(batch)
        }
        return pollQuestions()
    }

    private mutating func handOver(_ batch: ParcelBatch) -> (shard: Int, batch: ParcelBatch) {
        lanes[batch.reader].unread += 1
        return (batch.reader, batch)
    }

    /// Whether anything waits until a neighbour has read what it was handed.
    var isHolding: Bool { lanes.contains { $0.open?.isEmpty == false } || questions.contains { $0.open != nil } }

    /// A batch that this shard has made, and that was read.
    mutating func takeBack(_ batch: ParcelBatch) {
        if batch.isOfQuestions {
            questions[batch.reader].isUnread = false
            batch.isOfQuestions = false
        } else {
            lanes[batch.reader].unread -= 1
        }
        batch.removeAll()
        spare.append(batch)
    }
}
