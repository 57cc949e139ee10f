import PCastCore

/// The comparison of the directory's values with those that this node wants.
extension ClusterMember {
    /// Compares a key with what this node wants, at once. Without the directory nothing is noted, because all keys that
    /// this node wants are compared when the directory is connected.
    mutating func settle(_ key: ClusterKey) {
        guard isSynchronized, !isSuperseded else { return }
        unsettled.insert(key)
        settleAll()
    }

    mutating func settleAll() {
        guard isSynchronized, !isSuperseded, !unsettled.isEmpty else { return }
        // The lease is renewed first.
        if unsettled.contains(.node(node.name)) { settleOne(.node(node.name)) }
        guard operations.count < Self.operationLimit else { return }
        for key in unsettled.keys where operations.count < Self.operationLimit { settleOne(key) }
    }

    private mutating func settleOne(_ key: ClusterKey) {
        guard operations[key] == nil, retries[key].map({ now >= $0 }) ?? true else { return }
        if key == .node(node.name), waitsForOtherProcess() { return }
        unsettled.remove(key)
        retries[key] = nil
        let value = values[key]
        switch key {
        case .node(let name) where name == node.name:
            if isLeaving {
                if let value { remove(key, value.revision) }
            } else if value?.record != .node(node) {
                write(.node(node), value?.revision)
            }
        case .stream(let name):
            // A directory that lost writes may have the announcement of a fenced publication again.
            if publications[name]?.isFenced == false {
                settlePublication(name, value)
            } else {
                settleEnd(key, value)
            }
            // The publication may stand by now, or not any more.
            let standby = ClusterKey.standby(name, node: node.name)
            if operations[standby] == nil { settleOne(standby) } else { unsettled.insert(standby) }
        case .standby(let name, let owner) where owner == node.name:
            settleStandby(name, value)
        case .notification: settleNotification(key, value?.record, value?.revision)
        case .drain, .revocation, .value, .node, .standby:
            if let request = requests[key] {
                if satisfies(value?.record, request) {
                    requests[key] = nil
                } else {
                    write(request, value?.revision)
                }
            } else if removals.contains(key), let value {
                remove(key, value.revision)
            } else {
                removals.remove(key)
            }
        }
    }

    /// Removes a stream of this node that has ended, or that of a node that is lost for a long time.
    private mutating func settleEnd(_ key: ClusterKey, _ value: Value?) {
        guard let value, case .stream(let stream) = value.record else {
            removals.remove(key)
            return
        }
        let isExpired = removals.contains(key) && peers[stream.node]?.isLost != false
        if stream.node == node.name || isExpired { remove(key, value.revision) } else { removals.remove(key) }
    }

    /// Announces that a publication of this node stands by, or removes the announcement.
    private mutating func settleStandby(_ name: String, _ value: Value?) {
        if let publication = publications[name], publication.claim == .standby, publication.epoch == nil {
            var stream = publication.stream
            stream.epoch = StreamEpoch(number: 0, claim: 0)
            let wanted = ClusterRecord.standby(stream)
            if value?.record != wanted { write(wanted, value?.revision) }
        } else if let value {
            remove(.standby(name, node: node.name), value.revision)
        }
    }

    private mutating func settlePublication(_ name: String, _ value: Value?) {
        guard var publication = publications[name] else { return }
        defer { if publications[name] != nil { publications[name] = publication } }
        if let value, case .stream(let current) = value.record {
            if let epoch = publication.epoch, current.epoch > epoch {
                // Another claim is newer. It is fenced, whatever the directory says about revisions.
                (publication.epoch, publication.isAnnounced) = (nil, false)
                if current.node != node.name {
                    publication.isFenced = publication.claim == .takeOver
                    outputs.append(.event(.fenced(name, stream: publication.stream.stream, by: current.node)))
                }
                if publication.isFenced { return }
            }
            let isForeign = current.node != node.name
            let isHeld = isForeign && peers[current.node]?.isLost == false
            if isHeld, !publication.isAnnounced, ClusterStream.isRoomHome(name) { publication.epoch = nil }
            if publication.epoch == nil, publication.claim == .standby, isHeld { return }
        }
        if publication.epoch == nil {
            logicalTime += 1
            publication.epoch = StreamEpoch(number: logicalTime, claim: random.next())
        }
        if let epoch = publication.epoch { publication.stream.epoch = epoch }
        guard value?.record != .stream(publication.stream) else {
            if !publication.isAnnounced {
                publication.isAnnounced = true
                outputs.append(.event(.announced(name, publication.stream.epoch)))
            }
            return
        }
        write(.stream(publication.stream), value?.revision)
    }
}
