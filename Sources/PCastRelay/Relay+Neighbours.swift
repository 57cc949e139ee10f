public import PCastMedia
import PCastRTP
import PCastWebRTC

/// What is between the shards of a relay.
extension Relay {
    // MARK: Driving

    /// Batches of parcels that a relay makes for one neighbour at most.
    public static var maximumParcelBatches: Int {
        Neighbours.maximumBatches + Neighbours.maximumDatagramBatches + Neighbours.maximumQuestionBatches
    }

    /// What is to be brought to a neighbour, whole and in order; nil when there is none more. To be asked after each turn.
    public mutating func pollParcels() -> (shard: Int, batch: ParcelBatch)? { neighbours.poll() }

    /// Whether there is more, for a neighbour that has not read what it was brought. To be polled again when it gives a batch
    /// back.
    public var isHoldingParcels: Bool { neighbours.isHolding }

    /// Parcels that are looked at before the first of them.
    private static var foresight: Int { 8 }

    /// Takes in what a neighbour has handed over. The batch is to be given back to the neighbour (`takeBack`).
    public mutating func take(_ batch: ParcelBatch, from neighbour: Int, at now: Instant) {
        for (index, parcel) in batch.parcels.enumerated() {
            if index % Self.foresight == 0 { expect(batch.parcels[index...].prefix(Self.foresight)) }
            switch parcel {
            case .datagram(let range, let path, let arrival):
                let datagram = batch.bytes(range)
                guard let place = place(of: datagram, from: path) else {
                    strangers += 1
                    continue
                }
                waited = max(now - arrival, .zero)
                receive(datagram, from: path, of: place, at: now)
                waited = .zero
            case .adrift(let range, let path): _ = handleMoved(batch.bytes(range), from: path, at: now)
            case .path(let path, let claim): note(claim, of: neighbour, to: path)
            case .media, .control, .news, .ended: takeFromHome(parcel, of: batch, at: now)
            case .keyFrameWanted, .takers, .links: takeFromReplica(parcel, of: batch, at: neighbour, at: now)
            }
        }
    }

    /// As the loop does with what comes by a socket.
    private mutating func expect(_ parcels: ArraySlice<ParcelBatch.Parcel>) {
        withUnsafeTemporaryAllocation(of: NetworkPath.self, capacity: Self.foresight) { paths in
            var count = 0
            for case .datagram(_, let path, _) in parcels {
                paths.initializeElement(at: count, to: path)
                count += 1
            }
            guard count > 1 else { return }
            expect(from: Span(_unsafeElements: UnsafeBufferPointer(rebasing: paths[..<count])))
        }
    }

    /// A batch that this relay has made, to be used again.
    public mutating func takeBack(_ batch: ParcelBatch) { neighbours.takeBack(batch) }

    /// What could not be handed over, for neighbours that do not keep up.
    public var parcelsLost: Int { neighbours.lost + neighbours.datagramsLost }

    public func neighbour(of datagram: UnsafeMutableRawBufferPointer) -> Int? {
        guard neighbours.exist else { return nil }
        let bytes = Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(datagram))
        guard DatagramKind(bytes) == .stun, let message = STUNMessage.parse(bytes), message.messageClass == .request,
            let name = message.recipientRange(in: bytes), let first = name.first,
            let number = ICECredentials.mark(of: bytes[first]), number != neighbours.shard.number,
            number < neighbours.shard.count
        else { return nil }
        return number
    }

    // MARK: Datagrams

    /// Hands over what is of a neighbour's peer; answers whether it was. Nobody has authenticated it yet, so that it has a
    /// queue of its own.
    mutating func handOver(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant
    ) -> Bool {
        guard let owner = neighbour(of: datagram) ?? neighbours.paths[path] else { return false }
        neighbours.forward(UnsafeRawBufferPointer(datagram), to: owner) {
            .datagram($0, from: path, at: now - waited)
        }
        return true
    }

    /// Asks the neighbours whether it is of a peer of theirs that has moved: no more often than peers move, since anybody
    /// can send what has to be asked about.
    mutating func askNeighbours(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant
    ) {
        guard neighbours.exist, path.transport == .udp, Self.source(of: datagram) != nil,
            neighbours.mayAsk(at: now)
        else { return }
        for neighbour in neighbours.others {
            neighbours.ask(UnsafeRawBufferPointer(datagram), neighbour) { .adrift($0, from: path) }
        }
    }

    private mutating func note(_ claim: ParcelBatch.PathClaim, of neighbour: Int, to path: NetworkPath) {
        switch claim {
        case .taken:
            // Another peer is behind it now (ICE13).
            paths[path] = nil
            probedPaths[path] = nil
            neighbours.note(path, of: neighbour)
        case .asked:
            if paths[path] == nil, neighbours.paths[path] == nil { neighbours.note(path, of: neighbour) }
        case .left: neighbours.forget(path, of: neighbour)
        }
    }

    /// Tells what a path is to a peer of ours from now on.
    mutating func tellNeighbours(_ path: NetworkPath, _ claim: ParcelBatch.PathClaim) {
        guard neighbours.exist, path.transport == .udp else { return }
        if claim == .taken, let former = neighbours.paths[path] { neighbours.forget(path, of: former) }
        for neighbour in neighbours.others { neighbours.give(.path(path, claim), to: neighbour) }
    }
}
