import Glibc
import PCastCore
import PCastSFU
import PCastTestSupport
import PCastWebRTC

/// A publisher, an SFU and its viewers in memory on a `InMemoryHarness`; the CPU time and the allocations of each part are
/// measured.
final class MemoryBroadcast {
    /// The costs of the parts while `isMetering`.
    struct WorkCosts {
        /// The publisher's frames to packets, and sending of the packets.
        var send = WorkCost()
        /// Packets received by the SFU.
        var relayIn = WorkCost()
        /// Packets sent by the SFU, and its work at deadlines.
        var relayOut = WorkCost()
        /// Datagrams received by viewers.
        var receive = WorkCost()
        /// Complete frames taken from viewers.
        var frames = WorkCost()
    }

    private var sfu: SFU
    private let relayAddress = InMemoryHarness.relayAddress
    private let publisher: HarnessPeer
    private var viewers: [HarnessPeer] = []
    private var media: HarnessFrames
    private var batch = DatagramBatch()
    private let scratch = ByteStorage(byteCount: DatagramBatch.maximumDatagramSize, alignment: 64)
    private var relayHasInput = false
    private var now = InMemoryHarness.beginning

    private(set) var costs = WorkCosts()
    var isMetering = false
    /// One meter for each part: the publisher, the SFU's input and output, the viewers' input and their frames.
    var sendMeter = WorkMeter()
    var relayInMeter = WorkMeter()
    var relayOutMeter = WorkMeter()
    var receiveMeter = WorkMeter()
    private var frameMeter = WorkMeter()

    /// Creates the peers and connects them. Throws `BenchFailure` if they do not connect within two seconds of
    /// simulated time.
    init(viewers count: Int) throws {
        let harness = try InMemoryHarness()
        sfu = harness.sfu()
        media = HarnessFrames(at: now)
        publisher = harness.peer(0, .publish(video: .h264, audio: true))
        viewers = (1...max(1, count)).map { harness.peer($0, .view(video: true, audio: true)) }
        try connect()
    }

    private func connect() throws {
        let stream = StreamID("bench")
        let answer = try sfu.publish(PeerID(0), stream: stream, offer: publisher.connection.offer, at: now)
        try publisher.connection.accept(answer, at: now)
        try run(for: .seconds(2))
        for (index, viewer) in viewers.enumerated() {
            let answer = try sfu.view(
                PeerID(UInt64(index + 1)), stream: stream, offer: viewer.connection.offer, at: now)
            try viewer.connection.accept(answer, at: now)
        }
        try run(for: .seconds(2))
        guard publisher.isConnected, viewers.allSatisfy(\.isConnected) else {
            throw BenchFailure("the peers in memory did not connect")
        }
    }

    /// Simulates the given time in steps of `InMemoryHarness.step`. Throws `BenchFailure` if a peer's session ends.
    func run(for span: TimeSpan) throws {
        let end = now + span
        while now < end {
            now += InMemoryHarness.step
            publish()
            relayPackets()
            for viewer in viewers { view(viewer) }
            try follow(publisher)
            for viewer in viewers { try follow(viewer) }
            while sfu.pollEvent() != nil {}
        }
    }

    private func follow(_ peer: HarnessPeer) throws {
        peer.followEvents()
        if let end = peer.end { throw BenchFailure("a peer in memory was lost: \(end)") }
    }

    /// Resets the costs and measures them from now on.
    func beginMetering() {
        costs = WorkCosts()
        isMetering = true
    }

    // MARK: The publisher

    private func publish() {
        let frame = publisher.isConnected ? media.nextVideo(isKeyFrame: publisher.wantsKeyFrame, at: now) : nil
        let audio = publisher.isConnected ? media.nextAudio(at: now) : nil
        if frame?.isKeyFrame == true { publisher.wantsKeyFrame = false }
        var hasMore = true
        var isFirst = true
        while hasMore {
            batch.removeAll()
            sendMeter.begin()
            if isFirst {
                if let deadline = publisher.connection.deadline, deadline <= now {
                    publisher.connection.advance(to: now)
                }
                if let frame { publisher.connection.send(frame, at: now) }
                if let audio { publisher.connection.send(audio, at: now) }
            }
            hasMore = publisher.connection.poll(into: &batch, at: now)
            count(&sendMeter, \.send, packets: batch.count, frames: isFirst && frame != nil ? 1 : 0)
            isFirst = false
            deliverToRelay(from: publisher.address)
        }
    }

    private func deliverToRelay(from address: TransportAddress) {
        if batch.isEmpty { return }
        relayHasInput = true
        let path = NetworkPath(local: relayAddress, remote: address)
        relayInMeter.begin()
        for index in 0..<batch.count {
            let entry = batch[index]
            scratch.bytes.copyMemory(from: batch.bytes(of: entry))
            sfu.handle(scratch.bytes.extracting(..<entry.length), from: path, at: now)
        }
        count(&relayInMeter, \.relayIn, packets: batch.count)
    }

    // MARK: The SFU

    /// Polls the SFU as an event loop does: only if something has arrived or a deadline has passed.
    private func relayPackets() {
        var hasMore = relayHasInput || sfu.deadline.map { $0 <= now } ?? false
        relayHasInput = false
        while hasMore {
            batch.removeAll()
            relayOutMeter.begin()
            if let earliestDeadline = sfu.earliestDeadline, earliestDeadline <= now { sfu.advance(to: now) }
            hasMore = sfu.poll(into: &batch, at: now)
            count(&relayOutMeter, \.relayOut, packets: batch.count)
            for index in 0..<batch.count { deliver(batch[index]) }
        }
    }

    private func deliver(_ entry: DatagramBatch.Entry) {
        let bytes = batch.bytes(of: entry)
        let number = InMemoryHarness.number(of: entry.path.remote)
        scratch.bytes.copyMemory(from: bytes)
        let datagram = scratch.bytes.extracting(..<entry.length)
        if number == 0 {
            publisher.connection.handle(
                datagram, from: NetworkPath(local: publisher.address, remote: relayAddress), at: now)
            return
        }
        let viewer = viewers[number - 1]
        let path = NetworkPath(local: viewer.address, remote: relayAddress)
        receiveMeter.begin()
        viewer.connection.handle(datagram, from: path, at: now)
        count(&receiveMeter, \.receive, packets: 1)
    }

    // MARK: Viewers

    private func view(_ viewer: HarnessPeer) {
        frameMeter.begin()
        var frames = 0
        while viewer.connection.pollFrame(at: now) != nil { frames += 1 }
        count(&frameMeter, \.frames, packets: 0, frames: frames)
        batch.removeAll()
        receiveMeter.begin()
        if let deadline = viewer.connection.deadline, deadline <= now { viewer.connection.advance(to: now) }
        _ = viewer.connection.poll(into: &batch, at: now)
        count(&receiveMeter, \.receive, packets: 0)
        if !batch.isEmpty { deliverToRelay(from: viewer.address) }
    }

    private func count(
        _ meter: inout WorkMeter, _ part: WritableKeyPath<WorkCosts, WorkCost>, packets: Int, frames: Int = 0
    ) {
        guard isMetering else { return }
        meter.end(&costs[keyPath: part])
        costs[keyPath: part].packets += packets
        costs[keyPath: part].frames += frames
    }
}

/// The cost of one part of the work.
struct WorkCost {
    var packets = 0
    var frames = 0
    var allocations = 0
    var nanoseconds: Int64 = 0

    var allocationsPerPacket: Double { Double(allocations) / Double(max(1, packets)) }
    var allocationsPerFrame: Double { Double(allocations) / Double(max(1, frames)) }
    var nanosecondsPerPacket: Double { Double(nanoseconds) / Double(max(1, packets)) }

    static func + (left: WorkCost, right: WorkCost) -> WorkCost {
        WorkCost(
            packets: left.packets + right.packets, frames: left.frames + right.frames,
            allocations: left.allocations + right.allocations, nanoseconds: left.nanoseconds + right.nanoseconds)
    }
}

/// Measures the calling thread's CPU time and allocations between `begin()` and `end(_:)`.
struct WorkMeter {
    private var instant = Instant(nanoseconds: 0)
    private var allocations = 0
    private let counter = AllocationCounter.loaded
    /// The number of allocations whose stack traces are still to be printed.
    var tracing = 0

    mutating func begin() {
        allocations = counter?.count ?? 0
        if tracing > 0 { counter?.traceNext(tracing) }
        instant = Self.threadTime()
    }

    mutating func end(_ cost: inout WorkCost) {
        cost.nanoseconds += (Self.threadTime() - instant).nanoseconds
        if tracing > 0 { counter?.traceNext(0) }
        let made = (counter?.count ?? 0) - allocations
        cost.allocations += made
        if tracing > 0 { tracing = max(0, tracing - made) }
    }

    /// Returns the time of `CLOCK_THREAD_CPUTIME_ID` (clock_gettime(2)). A `timespec` is two words on 64-bit Linux.
    static func threadTime() -> Instant {
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 2) { words in
            let time = UnsafeMutableRawPointer(words.baseAddress!).assumingMemoryBound(to: timespec.self)
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, time)
            return Instant(nanoseconds: Int64(words[0]) * 1_000_000_000 + Int64(words[1]))
        }
    }
}
