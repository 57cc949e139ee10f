import PCastCore

/// The other shards, as one of them sees them: where their peers are, and what waits to be handed over to each.
struct ShardLinks {
    /// Batches for one neighbour at most, where there is one alone; what finds no room in them is lost, like a datagram, and
    /// counted.
    static let maximumBatches = 64
    /// Where there are many; one that stands still costs the others nothing.
    private static let leastBatches = 4
    /// A neighbour that has so many to read yet is handed full ones alone: it would get one of a packet or two in each turn,
    /// and the room for minutes were gone in a second.
    private static let unreadLimit = 2

    /// Batches of datagrams for one neighbour at most, which anybody can send: a flood of them never takes the room of media.
    static let maximumDatagramBatches = 32
    private static let leastDatagramBatches = 2

    /// What goes to one neighbour.
    private struct ShardQueue {
        var open: ShardMessageBatch?
        var full: [ShardMessageBatch] = []
        /// Handed over, and not given back.
        var unread = 0

        var count: Int { unread + full.count + (open == nil ? 0 : 1) }
    }

    /// What one neighbour is asked about unknown sources. Apart from what it is given, so that questions never take the room
    /// of media.
    private struct Questions {
        var open: ShardMessageBatch?
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
    private let datagramCapacity: Int
    private var lanes: [ShardQueue]
    /// Of datagrams that came to the wrong shard.
    private var datagramLanes: [ShardQueue]
    private var questions: [Questions]
    /// When all questions may be asked at once again.
    private var questionsRestored = Instant(nanoseconds: 0)
    /// What was not asked, having come too often.
    private(set) var unasked = 0
    private var spare: [ShardMessageBatch] = []
    /// What found no room.
    private(set) var lost = 0
    /// Datagrams that found none.
    private(set) var datagramsLost = 0

    /// - Parameter maximumPeers: of each shard.
    init(of shard: Shard, maximumPeers: Int) {
        self.shard = shard
        maximumPaths = shard.count * maximumPeers * 2
        lanes = Array(repeating: ShardQueue(), count: shard.count)
        datagramLanes = lanes
        questions = Array(repeating: Questions(), count: shard.count)
        let others = max(shard.count - 1, 1)
        laneCapacity = max(Self.maximumBatches / others, Self.leastBatches)
        datagramCapacity = max(Self.maximumDatagramBatches / others, Self.leastDatagramBatches)
    }

    var exist: Bool { !shard.isAlone }

    var others: some Sequence<Int> { (0..<shard.count).lazy.filter { [own = shard.number] in $0 != own } }

    // MARK: Paths

    mutating func note(_ path: NetworkPath, of peerShard: Int) {
        guard paths[path] != nil || paths.count < maximumPaths else { return }
        paths[path] = peerShard
    }

    mutating func forget(_ path: NetworkPath, of peerShard: Int) {
        if paths[path] == peerShard { paths[path] = nil }
    }

    // MARK: Parcels

    /// The batch of a lane in which there is room for one more parcel; nil when there is none.
    private static func batch(
        in lane: inout ShardQueue, of capacity: Int, _ byteCount: Int, _ content: ShardMessageBatch.Content,
        for peerShard: Int,
        _ spare: inout [ShardMessageBatch]
    ) -> ShardMessageBatch? {
        if let batch = lane.open {
            if batch.hasRoom(for: byteCount) { return batch }
            lane.full.append(batch)
            lane.open = nil
        }
        guard lane.count < capacity else { return nil }
        let batch = spare.popLast() ?? ShardMessageBatch()
        batch.reader = peerShard
        batch.content = content
        lane.open = batch
        return batch
    }

    private mutating func batch(for peerShard: Int, _ byteCount: Int) -> ShardMessageBatch? {
        let batch = Self.batch(
            in: &lanes[peerShard], of: laneCapacity, byteCount, .exchange, for: peerShard, &spare)
        if batch == nil { lost += 1 }
        return batch
    }

    mutating func give(_ shardMessage: ShardMessageBatch.ShardMessage, to peerShard: Int) {
        batch(for: peerShard, 0)?.append(shardMessage)
    }

    /// Forwards a datagram that came to the wrong shard.
    mutating func forward(
        _ bytes: UnsafeRawBufferPointer, to peerShard: Int,
        as shardMessage: (Range<Int>) -> ShardMessageBatch.ShardMessage
    ) {
        let batch = Self.batch(
            in: &datagramLanes[peerShard], of: datagramCapacity, bytes.count, .datagrams, for: peerShard, &spare)
        guard let batch else {
            datagramsLost += 1
            return
        }
        batch.append(shardMessage(batch.copy(bytes)))
    }

    mutating func give(
        _ bytes: UnsafeRawBufferPointer, to peerShard: Int,
        as shardMessage: (Range<Int>) -> ShardMessageBatch.ShardMessage
    ) {
        guard let batch = batch(for: peerShard, bytes.count) else { return }
        batch.append(shardMessage(batch.copy(bytes)))
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
        _ bytes: UnsafeRawBufferPointer, _ peerShard: Int,
        as shardMessage: (Range<Int>) -> ShardMessageBatch.ShardMessage
    ) {
        if questions[peerShard].open == nil {
            let batch = spare.popLast() ?? ShardMessageBatch()
            batch.reader = peerShard
            batch.content = .questions
            questions[peerShard].open = batch
        }
        guard let batch = questions[peerShard].open, batch.hasRoom(for: bytes.count) else {
            unasked += 1
            return
        }
        batch.append(shardMessage(batch.copy(bytes)))
    }

    private mutating func pollQuestions() -> (shard: Int, batch: ShardMessageBatch)? {
        for peerShard in questions.indices where !questions[peerShard].isUnread {
            guard let batch = questions[peerShard].open else { continue }
            questions[peerShard] = Questions(open: nil, isUnread: true)
            return (peerShard, batch)
        }
        return nil
    }

    /// A batch that is to be brought to a neighbour; nil when there is none more.
    mutating func poll() -> (shard: Int, batch: ShardMessageBatch)? {
        for peerShard in lanes.indices {
            if let batch = Self.poll(&lanes[peerShard]) ?? Self.poll(&datagramLanes[peerShard]) {
                return (peerShard, batch)
            }
        }
        return pollQuestions()
    }

    private static func poll(_ lane: inout ShardQueue) -> ShardMessageBatch? {
        if !lane.full.isEmpty {
            lane.unread += 1
            return lane.full.removeFirst()
        }
        guard lane.unread < unreadLimit, let batch = lane.open, !batch.isEmpty else { return nil }
        lane.open = nil
        lane.unread += 1
        return batch
    }

    /// Whether anything waits until a neighbour has read what it was handed.
    var isHolding: Bool {
        lanes.contains { $0.open?.isEmpty == false } || datagramLanes.contains { $0.open?.isEmpty == false }
            || questions.contains { $0.open != nil }
    }

    /// A batch that this shard has made, and that was read.
    mutating func takeBack(_ batch: ShardMessageBatch) {
        switch batch.content {
        case .exchange: lanes[batch.reader].unread -= 1
        case .datagrams: datagramLanes[batch.reader].unread -= 1
        case .questions: questions[batch.reader].isUnread = false
        }
        batch.removeAll()
        spare.append(batch)
    }
}
