import PCastCore

/// The other shards, as seen by one of them: the paths of their peers, and the messages for each.
struct ShardLinks {
    /// The maximum number of batches for the only other shard. Messages beyond it are dropped and counted.
    static let maximumBatches = 64
    /// The minimum number of batches for each of many shards. A shard that does not read has no effect on the others.
    private static let minimumBatches = 4
    /// The number of unread batches from which a shard receives only full batches. Otherwise it would receive a nearly
    /// empty batch in each iteration, and its capacity would be used up within a second.
    private static let unreadLimit = 2

    /// The maximum number of batches of datagrams from known paths for one shard. They are not authenticated yet, and a
    /// flood of them never uses the capacity of streams.
    static let maximumDatagramBatches = 32
    private static let minimumDatagramBatches = 2

    /// The maximum number of batches of connectivity checks from unknown paths for one shard. A flood of them never
    /// uses the capacity of media, including media that arrived at the wrong shard.
    static let maximumCheckBatches = 8
    private static let minimumCheckBatches = 1

    /// The batches for one shard.
    private struct ShardQueue {
        var open: ShardMessageBatch?
        var full: [ShardMessageBatch] = []
        /// The number of batches that were delivered and not returned.
        var outstanding = 0

        var count: Int { outstanding + full.count + (open == nil ? 0 : 1) }
    }

    /// The questions about unknown sources for one shard. They are separate, so that they never use the capacity of
    /// media.
    private struct Questions {
        var open: ShardMessageBatch?
        /// Whether the batch was delivered and not returned.
        var isUnread = false
    }

    /// The number of batches of questions that one shard has at a time.
    static let maximumQuestionBatches = 1
    /// The maximum rate of questions. One successful question is enough for a peer that migrates.
    static let questionsPerSecond: Int64 = 200
    /// The maximum number of questions in a burst.
    static let questionBurst: Int64 = 100

    let shard: Shard
    private let maximumPaths: Int
    private let laneCapacity: Int
    /// The shard whose peer has passed a check on the path, or is being checked on it.
    private(set) var paths: [NetworkPath: Int] = [:]
    private let datagramCapacity: Int
    private var lanes: [ShardQueue]
    /// The queues for datagrams that arrived at the wrong shard from known paths.
    private var datagramLanes: [ShardQueue]
    private let checkCapacity: Int
    /// The queues for connectivity checks that arrived at the wrong shard from unknown paths. They are delivered after
    /// media.
    private var checkQueues: [ShardQueue]
    private var questions: [Questions]
    /// The time at which a whole burst of questions is available again.
    private var questionsRestored = Instant(nanoseconds: 0)
    /// The number of questions that were not asked because of the limits.
    private(set) var droppedQueries = 0
    private var freeBatches: [ShardMessageBatch] = []
    /// The number of messages that were dropped.
    private(set) var lost = 0
    /// The number of datagrams from known paths that were dropped.
    private(set) var datagramsLost = 0
    /// The number of connectivity checks from unknown paths that were dropped.
    private(set) var checksLost = 0

    /// Creates the links of a shard. `maximumPeers` is the limit of each shard.
    init(of shard: Shard, maximumPeers: Int) {
        self.shard = shard
        maximumPaths = shard.count * maximumPeers * 2
        lanes = Array(repeating: ShardQueue(), count: shard.count)
        datagramLanes = lanes
        checkQueues = lanes
        questions = Array(repeating: Questions(), count: shard.count)
        let others = max(shard.count - 1, 1)
        laneCapacity = max(Self.maximumBatches / others, Self.minimumBatches)
        datagramCapacity = max(Self.maximumDatagramBatches / others, Self.minimumDatagramBatches)
        checkCapacity = max(Self.maximumCheckBatches / others, Self.minimumCheckBatches)
    }

    var exist: Bool { !shard.isAlone }

    var others: some Sequence<Int> { (0..<shard.count).lazy.filter { [own = shard.number] in $0 != own } }

    // MARK: Paths

    mutating func note(_ path: NetworkPath, of peerShard: Int) {
        guard paths[path] != nil || paths.count < maximumPaths else { return }
        paths[path] = peerShard
    }

    mutating func discard(_ path: NetworkPath, of peerShard: Int) {
        if paths[path] == peerShard { paths[path] = nil }
    }

    // MARK: Messages

    /// Returns the batch of a queue that has capacity for one more message; nil if there is none.
    private static func batch(
        in lane: inout ShardQueue, of capacity: Int, _ byteCount: Int, _ content: ShardMessageBatch.Content,
        for peerShard: Int,
        _ freeBatches: inout [ShardMessageBatch]
    ) -> ShardMessageBatch? {
        if let batch = lane.open {
            if batch.hasSpace(for: byteCount) { return batch }
            lane.full.append(batch)
            lane.open = nil
        }
        guard lane.count < capacity else { return nil }
        let batch = freeBatches.popLast() ?? ShardMessageBatch()
        batch.reader = peerShard
        batch.content = content
        lane.open = batch
        return batch
    }

    private mutating func batch(for peerShard: Int, _ byteCount: Int) -> ShardMessageBatch? {
        let batch = Self.batch(
            in: &lanes[peerShard], of: laneCapacity, byteCount, .streams, for: peerShard, &freeBatches)
        if batch == nil { lost += 1 }
        return batch
    }

    mutating func give(_ shardMessage: ShardMessageBatch.ShardMessage, to peerShard: Int) {
        batch(for: peerShard, 0)?.append(shardMessage)
    }

    /// Forwards a connectivity check that arrived at the wrong shard from an unknown path.
    mutating func forwardCheck(
        _ bytes: ByteView, to peerShard: Int,
        as shardMessage: (Range<Int>) -> ShardMessageBatch.ShardMessage
    ) {
        let batch = Self.batch(
            in: &checkQueues[peerShard], of: checkCapacity, bytes.count, .checks, for: peerShard, &freeBatches)
        guard let batch else {
            checksLost += 1
            return
        }
        batch.append(shardMessage(batch.copy(bytes)))
    }

    /// Forwards a datagram that arrived at the wrong shard from the path of one of that shard's peers.
    mutating func forward(
        _ bytes: ByteView, to peerShard: Int,
        as shardMessage: (Range<Int>) -> ShardMessageBatch.ShardMessage
    ) {
        let batch = Self.batch(
            in: &datagramLanes[peerShard], of: datagramCapacity, bytes.count, .datagrams, for: peerShard, &freeBatches)
        guard let batch else {
            datagramsLost += 1
            return
        }
        batch.append(shardMessage(batch.copy(bytes)))
    }

    mutating func give(
        _ bytes: ByteView, to peerShard: Int,
        as shardMessage: (Range<Int>) -> ShardMessageBatch.ShardMessage
    ) {
        guard let batch = batch(for: peerShard, bytes.count) else { return }
        batch.append(shardMessage(batch.copy(bytes)))
    }

    // MARK: Questions

    /// Whether another question may be asked. If true, it counts as asked.
    mutating func mayAsk(at now: Instant) -> Bool {
        let interval = TimeSpan.seconds(1) / Self.questionsPerSecond
        let restored = max(questionsRestored, now) + interval
        guard restored - now <= interval * Self.questionBurst else {
            droppedQueries += 1
            return false
        }
        questionsRestored = restored
        return true
    }

    mutating func ask(
        _ bytes: ByteView, _ peerShard: Int,
        as shardMessage: (Range<Int>) -> ShardMessageBatch.ShardMessage
    ) {
        if questions[peerShard].open == nil {
            let batch = freeBatches.popLast() ?? ShardMessageBatch()
            batch.reader = peerShard
            batch.content = .questions
            questions[peerShard].open = batch
        }
        guard let batch = questions[peerShard].open, batch.hasSpace(for: bytes.count) else {
            droppedQueries += 1
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

    /// Returns the next batch to deliver; nil if there is none. Checks from unknown paths and questions follow all
    /// other messages.
    mutating func poll() -> (shard: Int, batch: ShardMessageBatch)? {
        for peerShard in lanes.indices {
            if let batch = Self.poll(&lanes[peerShard]) ?? Self.poll(&datagramLanes[peerShard]) {
                return (peerShard, batch)
            }
        }
        for peerShard in checkQueues.indices {
            if let batch = Self.poll(&checkQueues[peerShard]) { return (peerShard, batch) }
        }
        return pollQuestions()
    }

    private static func poll(_ lane: inout ShardQueue) -> ShardMessageBatch? {
        if !lane.full.isEmpty {
            lane.outstanding += 1
            return lane.full.removeFirst()
        }
        guard lane.outstanding < unreadLimit, let batch = lane.open, !batch.isEmpty else { return nil }
        lane.open = nil
        lane.outstanding += 1
        return batch
    }

    /// Whether messages are held until another shard has read earlier ones.
    var isHolding: Bool {
        lanes.contains { $0.open?.isEmpty == false } || datagramLanes.contains { $0.open?.isEmpty == false }
            || checkQueues.contains { $0.open?.isEmpty == false } || questions.contains { $0.open != nil }
    }

    /// Returns a batch of this shard that another shard has read.
    mutating func takeBack(_ batch: ShardMessageBatch) {
        switch batch.content {
        case .streams: lanes[batch.reader].outstanding -= 1
        case .datagrams: datagramLanes[batch.reader].outstanding -= 1
        case .checks: checkQueues[batch.reader].outstanding -= 1
        case .questions: questions[batch.reader].isUnread = false
        }
        batch.removeAll()
        freeBatches.append(batch)
    }
}
