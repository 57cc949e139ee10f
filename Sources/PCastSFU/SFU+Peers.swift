public import PCastCore
import PCastRTP
import PCastWebRTC

/// The migration of peers whose address changes, because a NAT lost its binding or the network changed.
///
/// A media packet from an unknown path identifies its sender only by its SSRC. The peer whose keys authenticate the
/// packet is its sender. That peer receives one binding request on the new path, which is used once the peer answers.
/// Packets that are not authentic or were received before cause no migration.
extension SFU {
    /// Processes a packet of a peer that may have migrated. Returns true if a peer authenticated it.
    mutating func handleMigration(
        _ datagram: ReceivedDatagram, at now: Instant
    ) -> Bool {
        guard datagram.path.transport == .udp, let source = datagram.source else { return false }
        let candidates = peers.sources.candidates(source)
        guard candidates.count > 1 || (candidates.count == 1 && forwarder.shardLinks.exist) else {
            guard let candidate = candidates.first, peers.migrationBudget.take(at: now) else { return false }
            return handle(datagram, to: candidate, at: now)
        }
        guard peers.migrationBudget.take(candidates.count, at: now) else { return false }
        // A failed decryption may modify the datagram, so each candidate receives the original bytes.
        let original = Array(datagram.bytes)
        for candidate in candidates {
            datagram.bytes.copyBytes(from: original)
            if handle(datagram, to: candidate, at: now) { return true }
        }
        // The other shards receive the original bytes next.
        datagram.bytes.copyBytes(from: original)
        return false
    }

    /// Records the SSRCs that a peer has started to send with.
    mutating func rememberSources(_ peerIndex: PeerIndex) {
        switch peerIndex {
        case .publisher(let index):
            while let source = forwarder.streams[index].transport?.takeNewSource() {
                peers.add(source: source, of: peerIndex)
            }
        case .viewer(let index):
            while let source = forwarder.viewers[index].transport.takeNewSource() {
                peers.add(source: source, of: peerIndex)
            }
        }
    }

    /// Records the path of a check, because its answer will come from there.
    mutating func rememberProbe(_ peerIndex: PeerIndex) {
        forwarder.noteControl(peerIndex)
        let path =
            switch peerIndex {
            case .publisher(let index): forwarder.streams[index].probedPath
            case .viewer(let index): forwarder.viewers[index].transport.probedPath
            }
        guard let path else { return }
        peers.add(probe: path, of: peerIndex)
        reportPathChanges()
    }
}

/// The paths of peers.
extension SFU {
    /// Records a path after its peer has passed a check on it.
    mutating func remember(_ path: NetworkPath, _ peerIndex: PeerIndex) {
        guard peers.paths[path] != peerIndex, isValidated(path, by: peerIndex) else { return }
        switch peerIndex {
        case .publisher(let index):
            let stream = forwarder.streams.address(index)
            peers.add(path: path, of: peerIndex) { stream.pointee.isValidated($0) }
        case .viewer(let index):
            let viewer = forwarder.viewers.address(index)
            peers.add(path: path, of: peerIndex) { viewer.pointee.transport.isValidated($0) }
        }
        reportPathChanges()
    }

    private func isValidated(_ path: NetworkPath, by peerIndex: PeerIndex) -> Bool {
        switch peerIndex {
        case .publisher(let index): forwarder.streams.contains(index) && forwarder.streams[index].isValidated(path)
        case .viewer(let index):
            forwarder.viewers.contains(index) && forwarder.viewers[index].transport.isValidated(path)
        }
    }

    /// Reports changed paths to the other shards, and connections that no peer uses any more to the driver.
    mutating func reportPathChanges() {
        while let change = peers.pollChange() {
            switch change {
            case .claim(let claim, let path): notifyPeerShards(path, claim)
            case .unusedConnection(let path): forwarder.events.append(.closeConnection(path))
            }
        }
    }

    /// Whether a peer has authenticated itself on a path.
    public func isPeer(_ path: NetworkPath) -> Bool { peers.paths[path] != nil }

    /// Handles the end of a connection, for example over TCP.
    public mutating func pathClosed(_ path: NetworkPath, at now: Instant) {
        guard let peerIndex = peers.removeClosed(path) else { return }
        switch peerIndex {
        case .publisher(let index): forwarder.streams[index].transport?.pathClosed(path, at: now)
        case .viewer(let index): forwarder.viewers[index].transport.pathClosed(path, at: now)
        }
        follow(peerIndex, at: now)
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
        guard isValidated(path, by: peerIndex) else { return false }
        switch peerIndex {
        case .publisher(let index): return !forwarder.streams[index].isConnected
        case .viewer(let index): return !forwarder.viewers[index].transport.isConnected
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
