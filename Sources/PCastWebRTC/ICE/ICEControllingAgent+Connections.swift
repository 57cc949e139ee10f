public import PCastMedia

/// Stream connections (RFC 6544): a last resort, opened by the driver when datagrams lead to nothing.
extension ICEControllingAgent {
    mutating func openConnections() {
        guard isChecking else { return }
        for index in pairs.indices where pairs[index].isTCP && pairs[index].state == .failed {
            pairs[index].state = .unopened
        }
        wantsConnections = true
    }

    /// Where to open a connection to; the driver answers by `connectionOpened` or `connectionFailed`.
    public mutating func pollConnection() -> TransportAddress? {
        guard wantsConnections, isChecking, state != .failed else { return nil }
        guard let index = pairs.firstIndex(where: { $0.state == .unopened }) else {
            wantsConnections = false
            return nil
        }
        pairs[index].state = .opening
        return pairs[index].path.remote
    }

    /// A connection that was asked for is open; `path` bears its number and both ends.
    public mutating func connectionOpened(_ path: NetworkPath, at now: Instant) {
        precondition(path.transport != .udp)
        guard let index = pairs.firstIndex(where: { $0.state == .opening && $0.path.remote == path.remote }),
            isChecking
        else {
            closeLater(path)
            return
        }
        pairs[index].path = path
        pairs[index].state = .waiting
        beginCheck(index, at: now)
    }

    public mutating func connectionFailed(to remote: TransportAddress) {
        for index in pairs.indices where pairs[index].state == .opening && pairs[index].path.remote == remote {
            pairs[index].state = .failed
        }
    }

    /// A connection was closed by the peer or by an error.
    public mutating func pathClosed(_ path: NetworkPath, at now: Instant) {
        if heldPath == path { heldPath = nil }
        guard path.transport != .udp, let index = pairs.firstIndex(where: { $0.isTCP && $0.matches(path) }) else {
            return
        }
        pairs[index].state = .unopened
        pairs[index].check = nil
        pairs[index].hasHeardPeer = false
        guard index == selected else { return }
        selected = nil
        if state == .connected { state = .disconnected }
        checkOthers(at: now)
    }

    /// A tunnel to the peer, such as one through TURN, begins at an address of this machine; what leaves for there from
    /// `local` gets to the peer. The last resort of all: the driver opens one when nothing else has led to the peer.
    public mutating func addRelay(_ address: TransportAddress, from local: TransportAddress, at now: Instant) {
        let priority = ICECandidate.priority(.relayed, transport: .udp)
        let path = NetworkPath(local: local, remote: address)
        guard let index = addPair(path, priority: priority, remotePriority: priority, at: now) else { return }
        // What is there of an earlier tunnel by chance: the way is another.
        if isChecking, pairs[index].check == nil { beginCheck(index, at: now) }
    }

    /// The tunnel is gone.
    public mutating func removeRelay(_ address: TransportAddress, at now: Instant) {
        guard let index = pairs.firstIndex(where: { !$0.isTCP && $0.path.remote == address }) else { return }
        let isCut = index == selected || heldPath?.remote == address
        if heldPath?.remote == address { heldPath = nil }
        let kept = selected.map { pairs[$0].path }
        pairs.remove(at: index)
        selected = isCut ? nil : kept.flatMap { path in pairs.firstIndex { $0.path == path } }
        if isCut { checkOthers(at: now) }
    }

    /// A connection that is not needed, to be closed by the driver (ICE14).
    public mutating func takePathToClose() -> NetworkPath? { pathsToClose.popLast() }

    func isOpenConnection(_ pair: ICECandidatePair) -> Bool {
        guard pair.isTCP else { return false }
        switch pair.state {
        case .waiting, .inProgress, .succeeded: return true
        case .unopened, .opening, .failed: return false
        }
    }

    mutating func closeLater(_ path: NetworkPath) {
        if pathsToClose.count < Self.maximumPairs { pathsToClose.append(path) }
    }
}
