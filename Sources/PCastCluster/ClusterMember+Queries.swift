import PCastCore

/// The queries of the program, which are answered from memory.
extension ClusterMember {
    /// Returns the current origin of a stream at another node; nil if it is unknown, lost, or this node.
    package func origin(of name: String) -> StreamOrigin? {
        guard publications[name]?.epoch == nil, case .stream(let stream) = values[.stream(name)]?.record,
            stream.node != node.name, peers[stream.node]?.isLost == false,
            case .node(let other) = values[.node(stream.node)]?.record
        else { return nil }
        return StreamOrigin(
            node: other.name, address: other.address, stream: StreamID(stream.stream), epoch: stream.epoch)
    }

    /// Returns the nodes that publish a name: first its current origin, then those that stand by, in the order of their
    /// names, so that all nodes select the same one. This node is included if it publishes the name, and lost ones are
    /// left out. A node that stands by counts as one with the epoch of the current origin, also while the lease of that
    /// one has not expired.
    package func origins(of name: String) -> [StreamOrigin] {
        let epoch = highestEpoch(of: name) ?? StreamEpoch(number: 0, claim: 0)
        var standbys = (standbyNodes[name] ?? []).compactMap { node -> StreamOrigin? in
            guard node != self.node.name, peers[node]?.isLost == false,
                case .standby(let stream) = values[.standby(name, node: node)]?.record,
                case .node(let other) = values[.node(node)]?.record
            else { return nil }
            return StreamOrigin(node: node, address: other.address, stream: StreamID(stream.stream), epoch: epoch)
        }
        var current = origin(of: name)
        if let own = publications[name], !own.isFenced {
            let origin = StreamOrigin(
                node: node.name, address: node.address, stream: StreamID(own.stream.stream), epoch: own.epoch ?? epoch)
            if own.epoch == nil { standbys.append(origin) } else { current = origin }
        }
        standbys.sort { $0.node < $1.node }
        return (current.map { [$0] } ?? []) + standbys.filter { $0.node != current?.node }
    }

    /// Returns the epoch that this node has claimed for a name, and that the directory has acknowledged; nil if none.
    package func claimedEpoch(of name: String) -> StreamEpoch? {
        publications[name].flatMap { $0.isAnnounced ? $0.epoch : nil }
    }

    /// Returns the highest epoch of a name that this node knows; nil if it knows none.
    package func highestEpoch(of name: String) -> StreamEpoch? {
        let own = publications[name]?.epoch
        guard case .stream(let stream) = values[.stream(name)]?.record else { return own }
        return own.map { max($0, stream.epoch) } ?? stream.epoch
    }

    /// The nodes that are not lost, this one included, by name.
    package var nodes: [ClusterNode] {
        let others = peers.compactMap { name, peer -> ClusterNode? in
            guard !peer.isLost, case .node(let other) = values[.node(name)]?.record else { return nil }
            return other
        }
        return (others + [node]).sorted { $0.name < $1.name }
    }

    /// The streams of other nodes that are not lost.
    package var remoteStreams: [ClusterStream] {
        values.values.compactMap { value in
            guard case .stream(let stream) = value.record, stream.node != node.name,
                peers[stream.node]?.isLost == false, !ClusterStream.isRoomHome(stream.name)
            else { return nil }
            return stream
        }
    }

    /// The timelines whose homes are other nodes that are not lost, with the names of the nodes and their addresses.
    package var remoteTimelines: [(stream: ClusterStream, address: String)] {
        values.values.compactMap { value in
            guard case .stream(let stream) = value.record, ClusterStream.isTimelineHome(stream.name),
                publications[stream.name]?.epoch == nil, stream.node != node.name,
                peers[stream.node]?.isLost == false, case .node(let other) = values[.node(stream.node)]?.record
            else { return nil }
            return (stream, other.address)
        }
    }

    /// Whether a token is revoked.
    package func isRevoked(_ token: String) -> Bool {
        values[.revocation(token)] != nil || requests[.revocation(token)] != nil
    }
}
