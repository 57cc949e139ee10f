package import PCastCore

/// TCP connections (RFC 6544), which are tried only if UDP does not work.
extension ICEControllingAgent {
    /// Allows connections to be opened, if no pair works.
    mutating func openConnections() {
        guard isChecking else { return }
        for index in pairs.indices where pairs[index].isTCP && pairs[index].state == .failed {
            pairs[index].state = .unopened
        }
        wantsConnections = true
    }

    /// Returns an address to which the driver must open a connection; nil if there is none. The driver then calls
    /// ``connectionOpened(_:at:)`` or ``connectionFailed(to:)``.
    package mutating func pollConnection() -> TransportAddress? {
        guard wantsConnections, isChecking, state != .failed else { return nil }
        guard let index = pairs.firstIndex(where: { $0.state == .unopened }) else {
            wantsConnections = false
            return nil
        }
        pairs[index].state = .opening
        return pairs[index].path.remote
    }

    /// Reports that a requested connection is open. `path` has its number and both addresses.
    package mutating func connectionOpened(_ path: NetworkPath, at now: Instant) {
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

    /// Reports that a requested connection could not be opened.
    package mutating func connectionFailed(to remote: TransportAddress) {
        for index in pairs.indices where pairs[index].state == .opening && pairs[index].path.remote == remote {
            pairs[index].state = .failed
        }
    }

    /// Reports that a connection was closed by the peer or an error.
    package mutating func pathClosed(_ path: NetworkPath, at now: Instant) {
        if heldPath == path { heldPath = nil }
        guard path.transport != .udp, let index = pairs.firstIndex(where: { $0.isTCP && $0.matches(path) }) else {
            return
        }
        pairs[index].state = .unopened
        pairs[index].check = nil
        pairs[index].hasPeerRequest = false
        guard index == selected else { return }
        selected = nil
        if state == .connected { state = .disconnected }
        checkOthers(at: now)
    }

    /// Adds a tunnel to the peer, e.g. through TURN, that begins at a loopback address.
    ///
    /// It has the lowest priority. The driver opens it when no other path has led to the peer.
    ///
    /// - Parameters:
    ///   - address: The address of the tunnel on this host.
    ///   - local: The address of the socket that sends to the tunnel.
    ///   - now: The current time.
    package mutating func addRelay(_ address: TransportAddress, from local: TransportAddress, at now: Instant) {
        let priority = ICECandidate.priority(.relayed, transport: .udp)
        let path = NetworkPath(local: local, remote: address)
        guard let index = addPair(path, priority: priority, remotePriority: priority, at: now) else { return }
        // An earlier tunnel may have had the same address, so the check begins again.
        if isChecking, pairs[index].check == nil { beginCheck(index, at: now) }
    }

    /// Removes a tunnel that is closed.
    package mutating func removeRelay(_ address: TransportAddress, at now: Instant) {
        guard let index = pairs.firstIndex(where: { !$0.isTCP && $0.path.remote == address }) else { return }
        let isCut = index == selected || heldPath?.remote == address
        if heldPath?.remote == address { heldPath = nil }
        let kept = selected.map { pairs[$0].path }
        pairs.remove(at: index)
        selected = isCut ? nil : kept.flatMap { path in pairs.firstIndex { $0.path == path } }
        if isCut { checkOthers(at: now) }
    }

    /// Returns a connection that is not needed and that the driver must close; nil if there is none.
    package mutating func takePathToClose() -> NetworkPath? { pathsToClose.popLast() }

    /// Returns whether a pair has an open connection.
    func isOpenConnection(_ pair: ICECandidatePair) -> Bool {
        guard pair.isTCP else { return false }
        switch pair.state {
        case .waiting, .inProgress, .succeeded: return true
        case .unopened, .opening, .failed: return false
        }
    }

    /// Marks a connection for closing.
    mutating func closeLater(_ path: NetworkPath) {
        if pathsToClose.count < Self.maximumPairs { pathsToClose.append(path) }
    }
}
