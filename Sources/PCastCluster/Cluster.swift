package import PCastCore
import PCastIO
import Synchronization

/// A node's part of a cluster: it connects a ``ClusterMember`` with a directory and with the clock.
///
/// All queries answer from memory. Nothing of it is on the path of a packet.
package final class Cluster: StreamLookup {
    private let member: Mutex<ClusterMember>
    private let directory: any ClusterDirectory

    /// The events, which have one reader.
    package let events = ClusterEvents()

    /// The interval in which deadlines are checked.
    private static let interval = Duration.milliseconds(250)
    /// The maximum time in which the announcements of a node that stops are removed.
    private static let leaveTime = TimeSpan.seconds(2)

    /// Creates the part of a node. ``run()`` connects it.
    package init(
        _ node: ClusterNode, directory: any ClusterDirectory, timing: ClusterMember.Timing = ClusterMember.Timing()
    ) {
        self.directory = directory
        let seed = UInt64.random(in: .min ... .max)
        member = Mutex(ClusterMember(node, timing: timing, seed: seed, at: MonotonicClock.now()))
    }

    /// Follows the directory until the task is cancelled. Then it removes the values of this node, if the directory is
    /// connected, and disconnects.
    package func run() async {
        // The events are read until the announcements of this node are removed.
        let reading = Task { [self] in
            for await event in directory.events { change { $0.handle(event) } }
        }
        while !Task.isCancelled {
            change { $0.advance(to: MonotonicClock.now()) }
            try? await Task.sleep(for: Self.interval)
        }
        await Task { [self] in
            change { $0.leave() }
            let deadline = MonotonicClock.now() + Self.leaveTime
            while !member.withLock({ $0.hasLeft }), MonotonicClock.now() < deadline {
                try? await Task.sleep(for: .milliseconds(5))
            }
            await directory.close()
        }.value
        await reading.value
        events.finish()
    }

    /// Changes the member, and performs its outputs.
    private func change(_ change: (inout ClusterMember) -> Void) {
        let outputs = member.withLock { member in
            change(&member)
            return member.takeOutputs()
        }
        for output in outputs { perform(output) }
    }

    private func perform(_ output: ClusterMember.Output) {
        switch output {
        case .event(let event): events.yield(event)
        case .write(let record, let revision, let operation):
            Task { [self] in
                let result: Result<UInt64?, DirectoryError>
                do throws(DirectoryError) {
                    result = .success(try await directory.write(record, replacing: revision))
                } catch {
                    result = .failure(error)
                }
                self.change { $0.finish(operation, record.key, result) }
            }
        case .remove(let key, let revision, let operation):
            Task { [self] in
                let result: Result<UInt64?, DirectoryError>
                do throws(DirectoryError) {
                    try await directory.remove(key, revision: revision)
                    result = .success(nil)
                } catch {
                    result = .failure(error)
                }
                self.change { $0.finish(operation, key, result) }
            }
        }
    }

    // MARK: Announcements

    /// Announces a stream of this node, or changes its announcement.
    package func publish(_ stream: ClusterStream, _ claim: ClusterMember.Claim) {
        change { $0.publish(stream, claim) }
    }

    /// Removes the announcement of a stream that has ended.
    package func end(_ name: String, stream: String) { change { $0.end(name, stream: stream) } }

    /// Changes the load that the next renewal announces.
    package func setLoad(_ load: NodeLoad) { change { $0.setLoad(load) } }

    /// Changes the address that is announced, as soon as it is known.
    package func setAddress(_ address: String) { change { $0.setAddress(address) } }

    /// Changes the ports for RTMP publishers that are announced, as soon as they are known.
    package func setRTMPPorts(_ port: Int?, tls: Int?) { change { $0.setRTMPPorts(port, tls: tls) } }

    /// Announces that this node accepts no new clients, or accepts them again.
    package func setDraining(_ isDraining: Bool) { change { $0.setDraining(isDraining) } }

    /// Requests another node to drain. Returns false if there is no such node.
    package func requestDrain(of name: String) -> Bool {
        var isKnown = false
        change { isKnown = $0.requestDrain(of: name) }
        return isKnown
    }

    /// Announces that a token is not valid any more.
    package func revoke(_ revocation: TokenRevocation) { change { $0.revoke(revocation) } }

    /// Announces a value of this node's database, unless the directory has the same one or a newer one.
    package func announce(_ value: ClusterValue) { change { $0.announce(value) } }

    /// Announces a notification that this node delivers.
    package func announce(_ notification: ClusterNotification) { change { $0.announce(notification) } }

    /// Removes the notification of this node that is delivered.
    package func withdrawNotification(_ id: String) { change { $0.withdrawNotification(id) } }

    /// Returns the values of the database that other nodes have changed since the last call.
    package func takeChangedValues() -> [ClusterValue] { member.withLock { $0.takeChangedValues() } }

    // MARK: Queries

    /// Returns the current origin of a stream at another node; nil if it is unknown, or if it is this node.
    package func origin(of requested: StreamID) -> StreamOrigin? {
        member.withLock { $0.origin(of: requested.description) }
    }

    /// Returns the nodes that publish a stream, this one included: the current origin first, and then those that stand by.
    package func origins(of requested: StreamID) -> [StreamOrigin] {
        member.withLock { $0.origins(of: requested.description) }
    }

    /// Returns whether no higher epoch of the stream is known.
    package func isCurrent(_ epoch: StreamEpoch, of requested: StreamID) -> Bool {
        member.withLock { member in member.highestEpoch(of: requested.description).map { epoch >= $0 } ?? true }
    }

    /// Returns the epoch that this node has claimed for a name, and that the directory has acknowledged; nil if none.
    package func claimedEpoch(of name: StreamID) -> StreamEpoch? {
        member.withLock { $0.claimedEpoch(of: name.description) }
    }

    /// The announcement of this node.
    package var node: ClusterNode { member.withLock { $0.node } }

    /// The nodes that are not lost, this one included, by name.
    package var nodes: [ClusterNode] { member.withLock { $0.nodes } }

    /// The streams of other nodes that are not lost.
    package var remoteStreams: [ClusterStream] { member.withLock { $0.remoteStreams } }

    /// The timelines whose homes are other nodes that are not lost, and the addresses of those.
    package var remoteTimelines: [(stream: ClusterStream, address: String)] { member.withLock { $0.remoteTimelines } }

    /// Whether the directory is connected, and its values are known.
    package var isConnected: Bool { member.withLock { $0.isSynchronized } }

    /// A number that versions of new values must exceed.
    package var lowestVersion: UInt64 { member.withLock { $0.lowestVersion } }

    /// The notifications that this node delivers, in their order; nil while the directory is disconnected, or while this
    /// node takes over others, because some of them may precede.
    package var ownNotifications: [ClusterNotification]? { member.withLock { $0.ownNotifications } }

    /// Returns whether another node delivers a notification.
    package func isTakenOver(_ id: String) -> Bool { member.withLock { $0.isTakenOver(id) } }

    /// Whether a token is revoked.
    package func isRevoked(_ token: String) -> Bool { member.withLock { $0.isRevoked(token) } }
}

extension ClusterMember {
    /// The durations of a cluster, which are the same at all nodes.
    package struct Timing: Sendable {
        /// The interval in which a node renews its lease.
        package var renewal = TimeSpan.seconds(2)
        /// The time without a renewal after which a node counts as lost.
        package var lease = TimeSpan.seconds(6)
        /// The time after which the values of a lost node are removed.
        package var removal = TimeSpan.seconds(120)
        /// The time after which a write that failed is attempted again.
        package var retry = TimeSpan.seconds(1)

        /// Creates the default durations.
        package init() {}
    }

    /// The treatment of a name that another node publishes already.
    package enum Claim: Hashable, Sendable {
        /// This publication replaces the other one, which must end.
        case takeOver
        /// This publication waits until the other one ends, or its node is lost.
        case standby
    }

    /// An action of the driver.
    package enum Output: Hashable, Sendable {
        /// Writes a record, and reports the result with the number of the operation.
        case write(ClusterRecord, replacing: UInt64?, operation: UInt64)
        /// Removes a value, and reports the result with the number of the operation.
        case remove(ClusterKey, revision: UInt64, operation: UInt64)
        /// Reports an event to the program.
        case event(ClusterEvent)
    }
}

/// An event of a cluster for the program.
package enum ClusterEvent: Hashable, Sendable {
    /// The directory is connected, and its values are known.
    case connected
    /// The directory is disconnected for a reason. Everything that runs continues.
    case disconnected(String)
    /// A node joined, or returned.
    case nodeAppeared(String)
    /// A node has not renewed its lease in time.
    case nodeLost(String)
    /// The directory has the publication of a name with its epoch.
    case announced(String, StreamEpoch)
    /// Another node has claimed the name of a stream with a higher epoch.
    case fenced(String, stream: String, by: String)
    /// Another process uses the name of this node.
    case superseded
    /// Another node requests that this one drains.
    case drainRequested
    /// A token is not valid any more, by the identifier of its revocation.
    case revoked(String)
    /// Other nodes have changed values of the database, which ``Cluster/takeChangedValues()`` returns.
    case valuesChanged
    /// A value of the directory is invalid, or signed with another secret. It is reported once for each connection.
    case rejected(String)
    /// An operation has failed, and is attempted again.
    case failed(String)
}
