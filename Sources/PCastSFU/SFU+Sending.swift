public import PCastCore
import PCastRTP
import PCastWebRTC

extension SFU {
    /// Writes datagrams into the batch. Returns true if the batch is full and there may be more.
    public mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        // Sending media may make reports and requests due, which are sent at once.
        while !busyPeers.isEmpty || !busyStreams.isEmpty || !busyViewers.isEmpty {
            if pollControl(into: &batch, at: now) || forward(into: &batch, at: now) { return true }
            if resume(into: &batch, at: now) { return true }
        }
        return false
    }

    private mutating func pollControl(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        while let peerIndex = busyPeers.last {
            if pollControl(peerIndex, into: &batch, at: now) { return true }
            busyPeers.removeLast()
            finishControl(peerIndex)
        }
        return false
    }

    private mutating func forward(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        while let index = busyStreams.last {
            if forward(stream: index, into: &batch, at: now) { return true }
            busyStreams.removeLast()
            streams[index].hasPackets = false
        }
        return false
    }

    /// Continues with the viewers that have scheduled sends of their own; see `sendScheduled`.
    private mutating func resume(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        while let viewerIndex = busyViewers.last {
            if forward(stream: viewers[viewerIndex].stream, to: viewerIndex, into: &batch, at: now) { return true }
            busyViewers.removeLast()
            viewers[viewerIndex].hasScheduledSend = false
            schedule(viewer: viewerIndex)
        }
        return false
    }

    // MARK: Control

    /// Writes checks, handshakes and reports of one peer. Returns true if the batch is full.
    private mutating func pollControl(
        _ peerIndex: PeerIndex, into batch: inout DatagramBatch, at now: Instant
    ) -> Bool {
        let wallTime = configuration.clock.wallTime(at: now)
        switch peerIndex {
        case .publisher(let index): return streams[index].poll(into: &batch, wallTime: wallTime, at: now)
        case .viewer(let index): return viewers[index].poll(into: &batch, wallTime: wallTime, at: now)
        }
    }

    private mutating func finishControl(_ peerIndex: PeerIndex) {
        switch peerIndex {
        case .publisher(let index):
            streams[index].hasControl = false
            if streams[index].isEnding { remove(peerIndex) } else { schedule(publisher: index) }
        case .viewer(let index):
            viewers[index].hasControl = false
            if viewers[index].isEnding { remove(peerIndex) } else { schedule(viewer: index) }
        }
    }

    // MARK: Media

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
            let wallTime = configuration.clock.wallTime(at: now)
            if viewer.pointee.poll(into: &batch, wallTime: wallTime, at: now) { return true }
        }
        if viewer.pointee.sender.pacingDeadline != nil { schedule(viewer: viewerIndex) }
        return false
    }
}

/// Queries and limits of layers.
extension SFU {
    /// Returns the layers of a viewer's stream and the one that it receives; nil if the viewer has left or has no
    /// video.
    public func layers(viewedBy peer: PeerID) -> ViewedLayers? {
        guard case .viewer(let index) = peers[peer], viewers[index].sender.video != nil else { return nil }
        let stream = streams.address(viewers[index].stream)
        guard stream.pointee.layers.exist else { return nil }
        let viewer = viewers.address(index)
        return ViewedLayers(
            layers: stream.pointee.ladder.rungs.reversed().map { rung in
                ViewedLayers.Layer(
                    name: stream.pointee.name(of: rung.layer), bitrate: stream.pointee.layers[rung.layer].bitrate,
                    dimensions: rung.dimensions, isAvailable: rung.isAvailable)
            },
            current: viewer.pointee.layers.current.map { stream.pointee.name(of: $0) },
            pinned: viewer.pointee.selection.pin.map { stream.pointee.name(of: $0) },
            choice: viewer.pointee.selection.choice, cause: viewer.pointee.selection.cause)
    }

    /// Limits a viewer to a layer. It receives a lower layer if its link does not carry this one.
    ///
    /// - Parameters:
    ///   - peer: The viewer.
    ///   - layer: The name of the layer; nil removes the limit.
    ///   - now: The current time.
    /// - Throws: `SFUError.unknownPeer` or `SFUError.unknownLayer`.
    public mutating func pin(_ peer: PeerID, layer: String?, at now: Instant) throws(SFUError) {
        guard case .viewer(let index) = peers[peer] else { throw .unknownPeer }
        let stream = streams.address(viewers[index].stream)
        var pin: Int?
        if let layer {
            pin = stream.pointee.layers.indices.first { stream.pointee.name(of: $0) == layer }
            guard pin != nil else { throw .unknownLayer(layer) }
        }
        viewers[index].selection.pin = pin
        selectLayer(viewer: index, at: now)
    }

    /// Limits the bit rate of a publisher, regardless of what its viewers could receive. A publisher that ignores the
    /// limit is ended with `capacity`. The bit rate is that on the wire; nil removes the limit.
    public mutating func limit(_ peer: PeerID, to bitrate: Bitrate?) {
        guard case .publisher(let index) = peers[peer] else { return }
        streams[index].quality.ceiling.change(to: bitrate)
    }
}
