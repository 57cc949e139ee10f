import PCastCore
import PCastRTP
import PCastWebRTC

/// The streams of an SFU and their viewers, and the forwarding of packets from the ones to the others.
///
/// The forwarder has the state of media: subscriptions, layers, demand, data quality, and what is due to be sent. It does
/// not know which datagram belongs to which peer, or how a peer is admitted. Packets are copied once into the log of
/// their track, and encrypted from there into each viewer's datagram.
struct Forwarder: ~Copyable {
    let clock: WallClockReference
    var streams = Slab<PublishedStream>()
    var viewers = Slab<Viewer>()
    /// The links to the other shards, to which packets, updates and requests are written.
    var shardLinks: ShardLinks
    var timers = PeerTimers(slack: Viewer.timerSlack)
    var events = EventQueue()
    /// The streams that have packets to send.
    private(set) var busyStreams: [Int] = []
    /// The peers that have control packets to send.
    private(set) var busyPeers: [PeerIndex] = []
    /// The viewers that are scheduled on their own, because their pacer allows it or they lack packets.
    private(set) var busyViewers: [Int] = []
    /// The viewers whose reports are processed next; see `beginPrefetch`.
    private(set) var expectedViewers: [Int] = []
    /// The tracks whose units are read inside the platform.
    var readers = Slab<TrackReader>()
    /// The last units of streams that have ended, which were not delivered.
    var lastUnits: [PublishedUnit] = []
    /// The streams that forward the packets of other streams.
    var splices = Slab<StreamSplice>()
    /// The number of packets sent to viewers, including retransmissions.
    var packetsForwarded = 0

    init(_ configuration: SFUConfiguration) {
        clock = configuration.clock
        shardLinks = ShardLinks(of: configuration.shard, maximumPeers: configuration.maximumPeers)
    }

    /// The result of writing control packets.
    enum ControlPoll {
        case done
        /// The batch is full.
        case full
        /// The peer has ended, and its last packets are written.
        case ended(PeerIndex)
    }

    /// Whether anything is due to be sent.
    var isBusy: Bool { !busyPeers.isEmpty || !busyStreams.isEmpty || !busyViewers.isEmpty }

    /// Whether a peer exists.
    func contains(_ peerIndex: PeerIndex) -> Bool {
        switch peerIndex {
        case .publisher(let index): streams.contains(index)
        case .viewer(let index): viewers.contains(index)
        }
    }

    // MARK: Peers

    /// Ends a viewer. It is removed after its last packets were sent.
    mutating func end(viewer index: Int, reason: StreamEndedReason, at now: Instant) {
        guard !viewers[index].isEnding else { return }
        viewers[index].isEnding = true
        endSubscription(viewer: index, at: now)
        viewers[index].transport.close(at: now)
        noteControl(.viewer(index))
        events.append(.ended(viewers[index].peer, reason))
    }

    /// Ends a stream with all of its viewers. Returns false if it is ending already.
    mutating func beginEnd(publisher index: Int, reason: StreamEndedReason, at now: Instant) -> Bool {
        guard !streams[index].isEnding else { return false }
        streams[index].isEnding = true
        streams[index].transport?.close(at: now)
        noteControl(.publisher(index))
        for viewer in streams[index].viewers { end(viewer: viewer, reason: reason, at: now) }
        return true
    }

    /// Closes the link of a pulled stream, which remains.
    mutating func detach(publisher index: Int, at now: Instant) {
        guard !streams[index].isDetached else { return }
        streams[index].isDetached = true
        streams[index].isAway = false
        streams[index].transport?.close(at: now)
        noteControl(.publisher(index))
    }

    /// Reports the end of a stream to its replicas, or that of a replica to the publisher's shard.
    mutating func reportEnd(publisher index: Int, reason: StreamEndedReason) {
        for replica in streams[index].replicas {
            shardLinks.give(.ended(streams[index].peer, reason), to: replica.shard)
        }
        if let publisherShard = streams[index].publisherShard {
            // The stream may continue elsewhere, but this shard has no subscribers any more.
            shardLinks.give(.subscribers(streams[index].peer, StreamReplica.SubscribedTracks()), to: publisherShard)
            shardLinks.give(.links(streams[index].peer, StreamReplica.Links(), 0..<0), to: publisherShard)
        } else {
            events.append(.ended(streams[index].peer, reason))
        }
    }

    /// Removes a stream without viewers after its last packets were sent.
    mutating func remove(publisher index: Int) -> PublishedStream {
        busyStreams.removeAll { $0 == index }
        return streams.remove(index)
    }

    /// Removes a viewer after its last packets were sent, and returns its number.
    mutating func remove(viewer index: Int) -> PeerID {
        busyViewers.removeAll { $0 == index }
        let viewer = viewers.remove(index)
        streams[viewer.stream].quality.departed += StreamMetrics.counts(viewer.sender)
        streams[viewer.stream].removeViewer(index)
        if viewer.isCounted { streams[viewer.stream].countedViewers -= 1 }
        if streams[viewer.stream].isEnding, streams[viewer.stream].viewers.isEmpty {
            noteControl(.publisher(viewer.stream))
        }
        return viewer.peer
    }

    // MARK: State that publishers and viewers share

    func id(of peerIndex: PeerIndex) -> PeerID {
        switch peerIndex {
        case .publisher(let index): streams[index].peer
        case .viewer(let index): viewers[index].peer
        }
    }

    @inline(__always)
    mutating func decrypt(
        _ datagram: ReceivedDatagram, from peerIndex: PeerIndex, at now: Instant
    ) -> SecureTransport.Received {
        switch peerIndex {
        case .publisher(let index):
            streams[index].transport?.handle(datagram.bytes, as: datagram.kind, from: datagram.path, at: now)
                ?? .nothing
        case .viewer(let index):
            viewers[index].transport.handle(datagram.bytes, as: datagram.kind, from: datagram.path, at: now)
        }
    }

    @inline(__always)
    mutating func pollTransportEvent(of peerIndex: PeerIndex) -> SecureTransport.Event? {
        switch peerIndex {
        case .publisher(let index): streams[index].transport?.pollEvent()
        case .viewer(let index): viewers[index].transport.pollEvent()
        }
    }

    mutating func setAway(_ isAway: Bool, _ peerIndex: PeerIndex) {
        switch peerIndex {
        case .publisher(let index): streams[index].isAway = isAway
        case .viewer(let index): viewers[index].isAway = isAway
        }
    }

    /// Schedules what a peer has to send, and its next deadline, after changes of its transport.
    mutating func followed(_ peerIndex: PeerIndex, at now: Instant) {
        switch peerIndex {
        case .publisher(let index):
            noteControl(peerIndex)
            schedule(publisher: index)
        case .viewer(let index):
            if viewers[index].hasControlPackets(at: now) { noteControl(peerIndex) }
            schedule(viewer: index)
        }
    }

    // MARK: Time

    /// Performs the work of a stream that is due. Returns false if its publisher has exceeded its bit rate by too much
    /// for too long.
    mutating func advance(publisher index: Int, to now: Instant) -> Bool {
        if let until = streams[index].gathersUntil, until <= now { notePackets(stream: index) }
        pollRenditionRequests(stream: index, at: now)
        streams[index].transport?.advance(to: now)
        checkLinks(stream: index, at: now)
        return checkQuality(stream: index, at: now)
    }

    /// Performs the work of a viewer that is due. Returns false if only a paced send was.
    mutating func advance(viewer index: Int, to now: Instant) -> Bool {
        let isDue = viewers[index].hasDeadline(at: now)
        if isDue {
            viewers[index].transport.advance(to: now)
            viewers[index].sender.advance(to: now)
            if viewers[index].node != nil { followPauses(viewer: index, at: now) }
        }
        noteScheduledSend(viewer: index, at: now)
        return isDue
    }

    // MARK: Timers and scheduled sends

    /// Whether a deadline is the scheduled one of its peer.
    func isScheduled(_ instant: Instant, _ peerIndex: PeerIndex) -> Bool {
        switch peerIndex {
        case .publisher(let index): streams.contains(index) && streams[index].scheduled == instant
        case .viewer(let index): viewers.contains(index) && viewers[index].scheduled == instant
        }
    }

    /// Removes the entries of the timers that are out of date, if there are many.
    mutating func pruneTimers() {
        let peerCount = streams.count + viewers.count
        guard timers.needsPruning(peerCount: peerCount) else { return }
        var pruned = PeerTimers(slack: timers.slack)
        swap(&pruned, &timers)
        pruned.prune(peerCount: peerCount) { isScheduled($0, $1) }
        swap(&pruned, &timers)
    }

    /// Schedules a peer's next deadline if it is earlier than the scheduled one. A peer that has something to send is
    /// scheduled after it was sent, because until then its deadline is the one that just passed.
    mutating func schedule(publisher index: Int) {
        guard !streams[index].hasControl, let deadline = streams[index].deadline else { return }
        timers.schedule(
            .publisher(index), at: deadline, isDeferrable: false, instead: &streams[index].scheduled)
    }

    mutating func schedule(viewer index: Int) {
        guard !viewers[index].hasControl, !viewers[index].hasScheduledSend else { return }
        let (unpaced, paced) = (viewers[index].deferrableDeadline, viewers[index].pacingDeadline)
        guard let deadline = Instant.earlier(unpaced, paced) else { return }
        timers.schedule(
            .viewer(index), at: deadline, isDeferrable: deadline != paced, instead: &viewers[index].scheduled)
    }

    mutating func noteControl(_ peerIndex: PeerIndex) {
        switch peerIndex {
        case .publisher(let index):
            guard !streams[index].hasControl else { return }
            streams[index].hasControl = true
        case .viewer(let index):
            guard !viewers[index].hasControl else { return }
            viewers[index].hasControl = true
        }
        busyPeers.append(peerIndex)
    }

    /// Schedules a viewer that the pacer held back, if it may send now.
    mutating func noteScheduledSend(viewer index: Int, at now: Instant) {
        guard let held = viewers[index].sender.pacingDeadline, held <= now else { return }
        sendScheduled(viewer: index)
    }

    /// Schedules one viewer alone. The others are not served with it: among thousands of viewers one always lacks a
    /// packet, and to serve them all takes as long as a frame.
    mutating func sendScheduled(viewer index: Int) {
        guard !viewers[index].hasScheduledSend else { return }
        viewers[index].hasScheduledSend = true
        busyViewers.append(index)
    }

    mutating func notePackets(stream index: Int) {
        streams[index].gathersUntil = nil
        guard !streams[index].hasPackets else { return }
        streams[index].hasPackets = true
        busyStreams.append(index)
    }

    // MARK: Sending

    /// Writes the control packets of peers until a peer has ended. The caller removes that peer and continues.
    mutating func pollControl(into batch: inout DatagramBatch, at now: Instant) -> ControlPoll {
        while let peerIndex = busyPeers.last {
            if pollControl(peerIndex, into: &batch, at: now) { return .full }
            busyPeers.removeLast()
            if finishControl(peerIndex) { return .ended(peerIndex) }
        }
        return .done
    }

    mutating func forward(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        while let index = busyStreams.last {
            if forward(stream: index, into: &batch, at: now) { return true }
            busyStreams.removeLast()
            streams[index].hasPackets = false
        }
        return false
    }

    /// Continues with the viewers that have scheduled sends of their own; see `sendScheduled`.
    mutating func resume(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        while let viewerIndex = busyViewers.last {
            if forward(stream: viewers[viewerIndex].stream, to: viewerIndex, into: &batch, at: now) { return true }
            busyViewers.removeLast()
            viewers[viewerIndex].hasScheduledSend = false
            schedule(viewer: viewerIndex)
        }
        return false
    }

    /// Writes checks, handshakes and reports of one peer. Returns true if the batch is full.
    private mutating func pollControl(
        _ peerIndex: PeerIndex, into batch: inout DatagramBatch, at now: Instant
    ) -> Bool {
        let wallTime = clock.wallTime(at: now)
        switch peerIndex {
        case .publisher(let index):
            pollRenditionRequests(stream: index, at: now)
            return streams[index].poll(into: &batch, wallTime: wallTime, at: now)
        case .viewer(let index): return viewers[index].poll(into: &batch, wallTime: wallTime, at: now)
        }
    }

    /// Notes that a peer's control packets were written. Returns whether it has ended and must be removed.
    private mutating func finishControl(_ peerIndex: PeerIndex) -> Bool {
        switch peerIndex {
        case .publisher(let index):
            streams[index].hasControl = false
            if streams[index].isEnding { return true }
            if streams[index].isDetached { streams[index].transport = nil }
            schedule(publisher: index)
        case .viewer(let index):
            viewers[index].hasControl = false
            if viewers[index].isEnding { return true }
            schedule(viewer: index)
        }
        return false
    }

    /// Sends each viewer of a stream the packets that it does not have yet. Returns true if the batch is full; the next
    /// call continues with the same viewer.
    private mutating func forward(stream index: Int, into batch: inout DatagramBatch, at now: Instant) -> Bool {
        let stream = streams.address(index)
        let count = stream.pointee.viewers.count
        while stream.pointee.nextViewer < count {
            prefetch(viewersOf: stream, count: count)
            let turn = stream.pointee.firstViewer + stream.pointee.nextViewer
            let viewer = stream.pointee.viewers[turn < count ? turn : turn % count]
            if forward(stream: index, to: viewer, into: &batch, at: now) { return true }
            stream.pointee.nextViewer += 1
        }
        stream.pointee.nextViewer = 0
        // Another viewer is first the next time, so that no viewer is always last.
        stream.pointee.firstViewer = count == 0 ? 0 : (stream.pointee.firstViewer + 1) % count
        return false
    }

    private mutating func forward(
        stream index: Int, to viewerIndex: Int, into batch: inout DatagramBatch, at now: Instant
    ) -> Bool {
        let stream = streams.address(index)
        let viewer = viewers.address(viewerIndex)
        guard viewer.pointee.isWatching, !viewer.pointee.isEnding else { return false }
        if viewer.pointee.receivesAudio {
            viewer.pointee.catchUpAudio(stream.pointee.audio.log)
            if viewer.pointee.sendAudio(&stream.pointee.audio, into: &batch, count: &packetsForwarded, at: now) {
                return true
            }
        }
        if forwardVideo(to: viewerIndex, into: &batch, at: now) { return true }
        // A report that is due follows the packets. The first report of a track follows its first packets (RFC 3550,
        // section 6.4.1), because it needs their timestamps.
        if viewer.pointee.sender.isReportDue(at: now) {
            let wallTime = clock.wallTime(at: now)
            if viewer.pointee.poll(into: &batch, wallTime: wallTime, at: now) { return true }
        }
        if viewer.pointee.sender.pacingDeadline != nil { schedule(viewer: viewerIndex) }
        return false
    }
}

/// Prefetching of viewers' state. The state of a thousand viewers exceeds the processor's nearer caches, so it is
/// loaded while other viewers are served.
extension Forwarder {
    /// The number of viewers whose state stays in the caches.
    private static let prefetchedViewers = 16

    /// Prefetches the state of the next viewers, one step further for each of them.
    @inline(__always)
    mutating func prefetch(viewersOf stream: MutableReference<PublishedStream>, count: Int) {
        guard count > Self.prefetchedViewers else { return }
        var turn = stream.pointee.firstViewer + stream.pointee.nextViewer
        for step in Prefetch.allCases.reversed() {
            turn += 1
            viewers.address(stream.pointee.viewers[turn < count ? turn : turn % count]).pointee.prefetch(step)
        }
    }

    /// Whether the state of viewers is worth prefetching when their reports arrive.
    var prefetchesReports: Bool { viewers.count > Self.prefetchedViewers }

    /// Begins to prefetch the state of the viewers whose reports arrived in a batch. Their state is scattered and has not
    /// been used since the last frame, so the loads of several viewers overlap.
    mutating func beginPrefetch() { expectedViewers.removeAll(keepingCapacity: true) }

    mutating func prefetch(expected peerIndex: PeerIndex) {
        guard case .viewer(let index) = peerIndex, viewers.contains(index) else { return }
        Prefetch.fetch(AddressRange(of: viewers.address(index)))
        expectedViewers.append(index)
    }

    mutating func finishPrefetch() {
        prefetchExpected(.objects)
        prefetchExpected(.tables)
        prefetchExpected(.keys)
    }

    private mutating func prefetchExpected(_ step: Prefetch) {
        for viewerIndex in expectedViewers {
            viewers.address(viewerIndex).pointee.transport.prefetchReceiving(step)
            viewers.address(viewerIndex).pointee.sender.prefetchReporting(step)
        }
    }
}
