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
        guard case .viewer(let index) = peerIndices[peer], viewers[index].sender.video != nil else { return nil }
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
        guard case .viewer(let index) = peerIndices[peer] else { throw .unknownPeer }
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
        guard case .publisher(let index) = peerIndices[peer] else { return }
        streams[index].quality.ceiling.change(to: bitrate)
    }
}

/// Handshakes of peers that have no keys yet, processed a few at a time.
extension SFU {
    /// Queues a DTLS datagram that belongs to a handshake while others are waiting. Returns true if it was queued or
    /// dropped.
    mutating func defersHandshake(_ datagram: ReceivedDatagram, of peerIndex: PeerIndex, at now: Instant) -> Bool {
        guard isHandshaking(peerIndex, by: datagram.path) else { return false }
        guard HandshakeQueue.isMadeOfRecords(UnsafeRawBufferPointer(datagram.bytes)) else {
            handshakes.noteMalformed()
            return true
        }
        guard !handshakes.mayPass(at: now) else { return false }
        handshakes.append(
            HandshakeQueue.Entry(bytes: Array(datagram.bytes), path: datagram.path, peerIndex: peerIndex),
            of: peerIndex)
        return true
    }

    /// Whether a peer's handshake is in progress on a path. The path must have passed a check, so unknown sources
    /// cannot fill the queue.
    private func isHandshaking(_ peerIndex: PeerIndex, by path: NetworkPath) -> Bool {
        switch peerIndex {
        case .publisher(let index):
            streams.contains(index) && !streams[index].isConnected
                && streams[index].isValidated(path)
        case .viewer(let index):
            viewers.contains(index) && !viewers[index].transport.isConnected
                && viewers[index].transport.isValidated(path)
        }
    }

    /// Processes the queued datagrams whose time has come.
    mutating func processHandshakes(at now: Instant) {
        while let entry = handshakes.next(at: now) {
            var bytes = entry.bytes
            bytes.withUnsafeMutableBytes { datagram in
                _ = handle(ReceivedDatagram(datagram, .dtls, from: entry.path), to: entry.peerIndex, at: now)
            }
        }
    }
}

/// The assignment of datagrams to peers.
extension SFU {
    /// Records a path after its peer has passed a check on it.
    mutating func remember(_ path: NetworkPath, _ peerIndex: PeerIndex) {
        guard paths[path] != peerIndex else { return }
        let stale: [NetworkPath]
        switch peerIndex {
        case .publisher(let index):
            guard streams[index].isValidated(path) else { return }
            stale = streams[index].rememberPath(path)
        case .viewer(let index):
            guard viewers[index].transport.isValidated(path) else { return }
            stale = viewers[index].rememberPath(path)
        }
        paths[path] = peerIndex
        notifyPeerShards(path, .validated)
        for path in stale { discard(path, of: peerIndex) }
    }

    mutating func remember(fragment: String, _ peerIndex: PeerIndex) {
        ufrags[fragment] = peerIndex
        let stale =
            switch peerIndex {
            case .publisher(let index): streams[index].routes.add(fragment: fragment)
            case .viewer(let index): viewers[index].routes.add(fragment: fragment)
            }
        if let stale { ufrags[stale] = nil }
    }

    /// Removes all keys of a peer.
    mutating func discard(_ routes: PeerKeys, of peerIndex: PeerIndex) {
        for fragment in routes.ufrags { ufrags[fragment] = nil }
        for source in routes.sources { sources.remove(source, peerIndex) }
        discard(probe: routes.probedPath, of: peerIndex)
        for path in routes.paths { discard(path, of: peerIndex) }
    }

    /// Removes a path unless another peer has taken it over. A connection that no peer uses any more is closed, because
    /// its peer may have disappeared without closing it.
    private mutating func discard(_ path: NetworkPath, of peerIndex: PeerIndex) {
        guard paths[path] == peerIndex else { return }
        paths[path] = nil
        notifyPeerShards(path, .left)
        if path.transport != .udp { events.append(.closeConnection(path)) }
    }

    /// Whether a peer has authenticated itself on a path.
    public func isPeer(_ path: NetworkPath) -> Bool { paths[path] != nil }

    /// Handles the end of a connection, for example over TCP.
    public mutating func pathClosed(_ path: NetworkPath, at now: Instant) {
        guard let peerIndex = paths.removeValue(forKey: path) else { return }
        switch peerIndex {
        case .publisher(let index):
            streams[index].routes.remove(path: path)
            streams[index].transport?.pathClosed(path, at: now)
            follow(publisher: index, at: now)
        case .viewer(let index):
            viewers[index].routes.remove(path: path)
            viewers[index].transport.pathClosed(path, at: now)
            follow(viewer: index, at: now)
        }
    }
}
