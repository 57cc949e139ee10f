import PCastCore
import PCastSFU
import PCastTestSupport
import PCastWebRTC

/// A publisher, an SFU and its viewers on a `InMemoryHarness`. The viewers join and then send nothing more, so all further work
/// is that of the SFU.
final class ForwardingSetup {
    private var sfu: SFU
    private let relayAddress = InMemoryHarness.relayAddress
    private let publisher: HarnessPeer
    private var viewers: [HarnessPeer] = []
    private var media: HarnessFrames
    private var batch = DatagramBatch()
    private var incoming = DatagramBatch()
    private let scratch = ByteStorage(byteCount: DatagramBatch.maximumDatagramSize, alignment: 64)
    private var now = InMemoryHarness.beginning

    /// The number of datagrams that left the SFU in `forward`.
    private(set) var forwarded = 0
    /// The number of runs of datagrams of equal size to one viewer, of which the last may be shorter. Segmentation
    /// sends a run at once.
    private(set) var runs = 0

    /// Connects the peers; nil if they cannot connect.
    ///
    /// - Throws: `SFUError` or `SDPError` if an offer or answer is rejected.
    init?(viewers count: Int) throws {
        let harness = try InMemoryHarness()
        sfu = harness.sfu()
        media = HarnessFrames(at: now)
        publisher = harness.peer(0, .publish(video: .h264, audio: true))
        let stream = StreamID("stage")
        let answer = try sfu.publish(PeerID(0), stream: stream, offer: publisher.connection.offer, at: now)
        try publisher.connection.accept(answer, at: now)
        meet(for: .seconds(1))
        for number in 1...max(1, count) {
            let viewer = harness.peer(number, .view(video: true, audio: true))
            let answer = try sfu.view(
                PeerID(UInt64(number)), stream: stream, offer: viewer.connection.offer, at: now)
            try viewer.connection.accept(answer, at: now)
            viewers.append(viewer)
        }
        meet(for: .seconds(2))
        guard publisher.isConnected, viewers.allSatisfy(\.isConnected) else { return nil }
        viewers.removeAll()
    }

    /// Runs for a span of time, in which all peers send and receive.
    private func meet(for span: TimeSpan) {
        let end = now + span
        while now < end {
            now += InMemoryHarness.step
            publish()
            deliverToRelay(from: publisher)
            for viewer in viewers {
                incoming.removeAll()
                if let deadline = viewer.connection.deadline, deadline <= now { viewer.connection.advance(to: now) }
                _ = viewer.connection.poll(into: &incoming, at: now)
                deliverToRelay(from: viewer)
                while viewer.connection.pollFrame(at: now) != nil {}
                viewer.followEvents()
            }
            var hasMore = true
            while hasMore {
                hasMore = turn()
                for index in 0..<batch.count { deliver(batch[index]) }
            }
            publisher.followEvents()
        }
    }

    /// Lets the SFU forward the publisher's frames of a span of time. The publisher receives datagrams; viewers do not.
    ///
    /// If `isCounted` is true, the SFU's work is done in the functions whose instructions are counted.
    func forward(for span: TimeSpan, isCounted: Bool) {
        let end = now + span
        while now < end {
            now += InMemoryHarness.step
            publish()
            if isCounted { countedInput() } else { deliverToRelay(from: publisher) }
            var hasMore = true
            while hasMore {
                hasMore = isCounted ? countedTurn() : turn()
                if isCounted { countPackets() }
                for index in 0..<batch.count { deliver(batch[index]) }
            }
            publisher.followEvents()
        }
    }

    private func publish() {
        incoming.removeAll()
        if let deadline = publisher.connection.deadline, deadline <= now { publisher.connection.advance(to: now) }
        if publisher.isConnected {
            if let frame = media.nextVideo(isKeyFrame: publisher.wantsKeyFrame, at: now) {
                if frame.isKeyFrame { publisher.wantsKeyFrame = false }
                publisher.connection.send(frame, at: now)
            }
            if let audio = media.nextAudio(at: now) { publisher.connection.send(audio, at: now) }
        }
        _ = publisher.connection.poll(into: &incoming, at: now)
    }

    private func countPackets() {
        var run: (path: NetworkPath, length: Int, isOpen: Bool)?
        for index in 0..<batch.count where batch[index].path.remote != publisher.address {
            let entry = batch[index]
            forwarded += 1
            if let current = run, current.isOpen, current.path == entry.path, entry.length <= current.length {
                run!.isOpen = entry.length == current.length
            } else {
                runs += 1
                run = (entry.path, entry.length, true)
            }
        }
    }

    private func deliver(_ entry: DatagramBatch.Entry) {
        let number = InMemoryHarness.number(of: entry.path.remote)
        guard number == 0 || number <= viewers.count else { return }
        let peer = number == 0 ? publisher : viewers[number - 1]
        scratch.bytes.copyMemory(from: batch.bytes(of: entry))
        peer.connection.handle(
            scratch.bytes.extracting(..<entry.length),
            from: NetworkPath(local: peer.address, remote: relayAddress), at: now)
    }

    private func deliverToRelay(from peer: HarnessPeer) {
        let path = NetworkPath(local: relayAddress, remote: peer.address)
        for index in 0..<incoming.count {
            let entry = incoming[index]
            scratch.bytes.copyMemory(from: incoming.bytes(of: entry))
            sfu.handle(scratch.bytes.extracting(..<entry.length), from: path, at: now)
        }
    }

    // MARK: Counted functions

    /// Delivers the publisher's datagrams to the SFU.
    @inline(never)
    private func countedInput() { deliverToRelay(from: publisher) }

    /// Counted variant of `turn`.
    @inline(never)
    private func countedTurn() -> Bool { turn() }

    /// Lets the SFU write a batch. Returns true if it has more.
    private func turn() -> Bool {
        batch.removeAll()
        if let earliestDeadline = sfu.earliestDeadline, earliestDeadline <= now { sfu.advance(to: now) }
        let hasMore = sfu.poll(into: &batch, at: now)
        while sfu.pollEvent() != nil {}
        return hasMore
    }
}
