public import PCastCore
import PCastRTP
import PCastWebRTC

/// A received datagram. It is classified once, when it arrives.
struct ReceivedDatagram {
    /// The driver's buffer, in which media is decrypted.
    let bytes: UnsafeMutableRawBufferPointer
    let kind: DatagramKind
    let path: NetworkPath
    /// The time that the datagram waited before it was processed, for example in another shard. Round trips are
    /// measured without it.
    let waited: TimeSpan

    init(_ bytes: UnsafeMutableRawBufferPointer, from path: NetworkPath, waited: TimeSpan = .zero) {
        let kind = DatagramKind(Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(bytes)))
        self.init(bytes, kind, from: path, waited: waited)
    }

    /// Creates a datagram that was classified before.
    init(
        _ bytes: UnsafeMutableRawBufferPointer, _ kind: DatagramKind, from path: NetworkPath, waited: TimeSpan = .zero
    ) {
        self.bytes = bytes
        self.kind = kind
        self.path = path
        self.waited = waited
    }

    /// The SSRC of the sender of an encrypted packet; nil for other datagrams.
    var source: UInt32? {
        let offset: Int
        switch kind {
        case .rtp: offset = 8
        case .rtcp: offset = 4
        case .stun, .dtls, .unknown: return nil
        }
        guard bytes.count >= offset + 4 else { return nil }
        return UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}

extension SFU {
    /// Processes a datagram that did not wait.
    public mutating func handle(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant
    ) { handle(datagram, from: path, waited: .zero, at: now) }

    /// Processes a datagram: by its peer if the path or the ufrag is known, otherwise by another shard or as a
    /// migration. Round trips are measured without the time that it waited before it was read.
    public mutating func handle(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, waited: TimeSpan, at now: Instant
    ) {
        let datagram = ReceivedDatagram(datagram, from: path, waited: waited)
        guard datagram.kind != .stun else { return handleSTUN(datagram, at: now) }
        if let peerIndex = peers.findPeer(of: path) {
            receive(datagram, of: peerIndex, at: now)
        } else if !transfer(datagram, namedShard: nil, at: now), !handleMigration(datagram, at: now) {
            askPeerShards(datagram, at: now)
            unknownSourceDatagrams += 1
        }
    }

    /// Processes a STUN datagram, which is parsed once. A malformed one has an effect on the counters of the peer only.
    private mutating func handleSTUN(_ datagram: ReceivedDatagram, at now: Instant) {
        let bytes = Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(datagram.bytes))
        let message = STUNMessage.parse(bytes)
        if let peerIndex = peers.findPeer(of: message, datagram) {
            receive(message, datagram, of: peerIndex, at: now)
        } else if !transfer(datagram, namedShard: peerShard(of: message, in: bytes), at: now) {
            unknownSourceDatagrams += 1
        }
    }

    /// Processes a datagram that another shard forwarded. Only a peer of this shard is looked for.
    mutating func handleForwarded(_ datagram: ReceivedDatagram, at now: Instant) {
        guard datagram.kind == .stun else {
            guard let peerIndex = peers.findPeer(of: datagram.path) else { return unknownSourceDatagrams += 1 }
            return receive(datagram, of: peerIndex, at: now)
        }
        let message = STUNMessage.parse(Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(datagram.bytes)))
        guard let peerIndex = peers.findPeer(of: message, datagram) else { return unknownSourceDatagrams += 1 }
        receive(message, datagram, of: peerIndex, at: now)
    }

    private mutating func receive(_ datagram: ReceivedDatagram, of peerIndex: PeerIndex, at now: Instant) {
        if datagram.kind == .dtls, defersHandshake(datagram, of: peerIndex, at: now) { return }
        handle(datagram, to: peerIndex, at: now)
    }

    /// Passes a STUN message to a peer. It is nil if it is malformed.
    private mutating func receive(
        _ message: STUNMessage?, _ datagram: ReceivedDatagram, of peerIndex: PeerIndex, at now: Instant
    ) {
        let bytes = Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(datagram.bytes))
        switch peerIndex {
        case .publisher(let index):
            guard streams.contains(index) else { return }
            streams[index].transport?.handle(message, in: bytes, from: datagram.path, at: now)
        case .viewer(let index):
            guard viewers.contains(index) else { return }
            viewers[index].transport.handle(message, in: bytes, from: datagram.path, at: now)
        }
        remember(datagram.path, peerIndex)
        follow(peerIndex, at: now)
    }

    /// Passes a datagram to a peer. Returns true if it was authentic media or control.
    @discardableResult
    mutating func handle(_ datagram: ReceivedDatagram, to peerIndex: PeerIndex, at now: Instant) -> Bool {
        switch peerIndex {
        case .publisher(let index): streams.contains(index) && receive(datagram, publisher: index, at: now)
        case .viewer(let index): viewers.contains(index) && receive(datagram, viewer: index, at: now)
        }
    }

    /// Processes a packet that had to wait for the keys.
    mutating func replay(_ bytes: [UInt8], from path: NetworkPath, to peerIndex: PeerIndex, at now: Instant) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
        defer { copy.deallocate() }
        copy.copyBytes(from: bytes)
        handle(ReceivedDatagram(copy, from: path), to: peerIndex, at: now)
    }

    // MARK: Publishers

    private mutating func receive(
        _ datagram: ReceivedDatagram, publisher index: Int, at now: Instant
    ) -> Bool {
        let path = datagram.path
        let received =
            streams[index].transport?.handle(datagram.bytes, as: datagram.kind, from: path, at: now) ?? .nothing
        rememberSources(.publisher(index))
        switch received {
        case .rtp(let length):
            let packet = UnsafeRawBufferPointer(rebasing: datagram.bytes[..<length])
            shareWithReplicas(packet, of: index) { .media($0, $1) }
            receiveMedia(packet, stream: index, at: now)
            if path != streams[index].path { rememberProbe(.publisher(index)) }
            schedule(publisher: index)
            return true
        case .rtcp(let length):
            let packet = UnsafeRawBufferPointer(rebasing: datagram.bytes[..<length])
            shareWithReplicas(packet, of: index) { .control($0, $1) }
            receiveControl(packet, publisher: index, at: now)
            if path != streams[index].path { rememberProbe(.publisher(index)) }
            follow(publisher: index, at: now)
            return true
        case .nothing:
            remember(path, .publisher(index))
            follow(publisher: index, at: now)
            return false
        }
    }

    mutating func receiveMedia(_ datagram: UnsafeRawBufferPointer, stream index: Int, at now: Instant) {
        guard let packet = streams[index].receiver.receive(datagram, at: now) else { return }
        if !packet.payload.isEmpty { streams[index].deadlines.noteData(at: now) }
        if !streams[index].hasMedia {
            streams[index].hasMedia = true
            events.append(.mediaStarted(streams[index].peer))
        }
        if packet.isRestart { restartViewers(of: index, packet.type, layer: packet.layer, at: now) }
        if streams[index].reviewLayers(configuration.clock, at: now) {
            for viewer in streams[index].viewers { selectLayer(viewer: viewer, at: now) }
        }
        // Recovered packets precede the packet that repeats them.
        while let recovered = streams[index].receiver.takeRecovered() {
            append(recovered, of: datagram, stream: index, at: now)
        }
        append(packet, of: datagram, stream: index, at: now)
    }

    private mutating func append(
        _ packet: MediaReceiver.Packet, of datagram: UnsafeRawBufferPointer, stream index: Int, at now: Instant
    ) {
        let payload = UnsafeRawBufferPointer(rebasing: datagram[packet.payload])
        guard packet.type == .video else {
            guard streams[index].audio.append(packet, payload: payload, at: now) != .refused else { return }
            return notePackets(stream: index)
        }
        let layer = packet.layer
        switch streams.address(index).pointee.layers.address(layer).pointee.append(packet, payload: payload, at: now) {
        case .refused, .waiting: return
        case .appended: break
        case .keyFrame(let sequence):
            streams[index].receiver.keyFrameArrived(layer: layer, sequence: sequence, at: now)
        }
        if !packet.marker { return gather(stream: index, at: now) }
        notePackets(stream: index)
    }

    /// Waits for the other packets of a frame, so that they are sent together. No viewer shows a part of a frame, and
    /// each message to the kernel has a fixed cost. The wait is limited to `gatheringTime`.
    private mutating func gather(stream index: Int, at now: Instant) {
        guard !streams[index].hasPackets, streams[index].gathersUntil == nil else { return }
        streams[index].gathersUntil = now + Self.gatheringTime
        schedule(publisher: index)
    }

    static let gatheringTime = TimeSpan.milliseconds(1)

    /// Handles a restart of the source. Viewers of its video resume at its next key frame.
    private mutating func restartViewers(of index: Int, _ type: MediaType, layer: Int, at now: Instant) {
        if type == .video { streams[index].layers[layer].restart() } else { streams[index].audio.restart() }
        for viewer in streams[index].viewers {
            if type == .video {
                guard viewers[viewer].layers.current == layer else { continue }
                viewers[viewer].videoLost(at: now)
                take(layers: viewers[viewer].layers.neededLayers, viewer: viewer, at: now)
            } else if streams[index].audio.exists {
                viewers[viewer].sender.audio?.pointee.stream.beginAtEnd(of: streams[index].audio.log)
            }
        }
        if type == .video { requestKeyFrame(stream: index, layer: layer) }
    }

    mutating func receiveControl(
        _ datagram: UnsafeRawBufferPointer, publisher index: Int, at now: Instant
    ) {
        let bytes = Span<UInt8>(_unsafeBytes: datagram)
        let wallTime = configuration.clock.wallTime(at: now)
        var reader = RTCPReader()
        while let control = reader.next(in: bytes) {
            if let track = streams[index].receiver.receive(control, in: bytes, wallTime: wallTime, at: now) {
                streams[index].follow(track.type, layer: track.layer, clock: configuration.clock, at: now)
            }
        }
    }

    // MARK: Viewers

    private mutating func receive(
        _ datagram: ReceivedDatagram, viewer index: Int, at now: Instant
    ) -> Bool {
        let path = datagram.path
        let received = viewers[index].transport.handle(datagram.bytes, as: datagram.kind, from: path, at: now)
        rememberSources(.viewer(index))
        switch received {
        case .rtp: return true
        case .rtcp(let length):
            let packet = UnsafeRawBufferPointer(rebasing: datagram.bytes[..<length])
            receiveControl(packet, viewer: index, waited: datagram.waited, at: now)
            if path != viewers[index].transport.path { rememberProbe(.viewer(index)) }
            follow(viewer: index, at: now)
            return true
        case .nothing:
            remember(path, .viewer(index))
            follow(viewer: index, at: now)
            return false
        }
    }

    /// Forwards a viewer's request for a key frame of the layer that it sees. A key frame that is already requested
    /// serves the viewer too. A viewer that is alone may always request one; others have a budget.
    private mutating func requestKeyFrame(viewer index: Int, at now: Instant) {
        guard viewers[index].drain == nil else { return }
        // A key frame would only add to the queue of a full link.
        if viewers[index].sender.isCongested { return dropQueuedVideo(viewer: index, at: now) }
        let stream = viewers[index].stream
        guard let layer = viewers[index].layers.shown, streams[stream].receiver.layers.indices.contains(layer) else {
            return
        }
        let isWaitedFor = streams[stream].receiver.layers[layer].keyFrame.isWanted
        let isAlone = streams.address(stream).pointee.isHereAlone && streams[stream].layers[layer].subscribers <= 1
        guard isWaitedFor || isAlone || viewers[index].keyFrames.take(at: now) else { return }
        requestKeyFrame(stream: stream, layer: layer)
    }

    private mutating func receiveControl(
        _ datagram: UnsafeRawBufferPointer, viewer index: Int, waited: TimeSpan, at now: Instant
    ) {
        let bytes = Span<UInt8>(_unsafeBytes: datagram)
        let wallTime = configuration.clock.wallTime(at: now - waited)
        let stream = viewers[index].stream
        viewers[index].quality.reports += 1
        viewers[index].quality.silence.observe(at: now)
        var reader = RTCPReader()
        var budget = NegativeAcknowledgement.maximumCountPerDatagram
        while let control = reader.next(in: bytes) {
            let requests = viewers[index].sender.receive(
                control, in: bytes, budget: &budget, wallTime: wallTime, waited: waited, at: now)
            if requests.keyFrame { requestKeyFrame(viewer: index, at: now) }
        }
        let viewer = viewers.address(index)
        viewer.pointee.sender.desiredBitrate = streams[stream].desiredBitrate
        noteScheduledSend(viewer: index, at: now)
        selectLayer(viewer: index, at: now)
        let layer = viewer.pointee.layers.last ?? 0
        if streams[stream].layers.exist {
            viewer.pointee.sender.resolveRequests(.video, in: streams[stream].layers[layer].log, at: now)
        }
        if streams[stream].audio.exists {
            viewer.pointee.sender.resolveRequests(.audio, in: streams[stream].audio.log, at: now)
        }
        if viewer.pointee.sender.video?.pointee.stream.waitsToResend == true
            || viewer.pointee.sender.audio?.pointee.stream.waitsToResend == true
        {
            sendScheduled(viewer: index)
        }
    }
}
