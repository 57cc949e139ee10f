import PCastCore
import PCastDatabase
import Synchronization
import Testing

@testable import PCastPlatform

/// Sessions across connections, on virtual time.
@Suite struct SessionRegistryTests {
    private let application = ApplicationID("first")
    private let start = Instant(nanoseconds: 0)

    /// The notifications that a client received.
    private final class Told: Sendable {
        private let ends = Mutex<[StreamEnd]>([])
        private let requests = Mutex(0)
        /// Whether the client is connected.
        private let accepts: Bool

        init(accepts: Bool = true) { self.accepts = accepts }

        var streams: [StreamID] { ends.withLock { $0.map(\.streamID) } }
        /// The number of requests to connect to another node.
        var moves: Int { requests.withLock { $0 } }

        func deliver(_ news: SessionRegistry.SessionUpdate) -> Bool {
            if case .ended(let end) = news { ends.withLock { $0.append(end) } }
            if case .moved = news { requests.withLock { $0 += 1 } }
            return accepts
        }
    }

    /// Returns the streams whose end is reported.
    private func ends(_ news: [SessionRegistry.SessionUpdate]?) -> [StreamID] {
        (news ?? []).compactMap { if case .ended(let end) = $0 { end.streamID } else { nil } }
    }

    private func end(_ stream: String) -> StreamEnd {
        StreamEnd(streamID: StreamID(stream), reason: .censored, description: "")
    }

    @Test("ends that occurred while a client was away are reported once when it is back") func endsAreReportedOnReturn()
        async throws
    {
        let registry = SessionRegistry()
        let first = Told()
        let opened = try #require(
            await registry.open(application, previous: nil, at: start) { first.deliver($0) })
        for stream in ["a", "b", "c"] { #expect(await registry.began(StreamID(stream), in: opened.id)) }
        await registry.ended(end("a"), in: opened.id)
        #expect(first.streams == [StreamID("a")])
        await registry.connectionLost(opened.id, connection: opened.connection, at: start)
        await registry.ended(end("b"), in: opened.id)
        #expect(first.streams == [StreamID("a")])
        let later = Told()
        let resumed = try #require(
            await registry.open(application, previous: opened.id, at: start + .seconds(179)) { later.deliver($0) })
        #expect(resumed.id == opened.id)
        #expect(ends(resumed.pendingUpdates) == [StreamID("b")])
        // The loss of the old connection is noticed only now, which changes nothing.
        await registry.connectionLost(opened.id, connection: opened.connection, at: start + .seconds(180))
        await registry.ended(end("c"), in: opened.id)
        #expect(later.streams == [StreamID("c")])
        let again = await registry.open(application, previous: opened.id, at: start + .seconds(181)) { _ in true }
        #expect(again?.pendingUpdates.isEmpty == true)
    }

    @Test("a message that a closing connection did not accept is kept") func refusedDelivery() async throws {
        let registry = SessionRegistry()
        let opened = try #require(await registry.open(application, previous: nil, at: start) { _ in false })
        #expect(await registry.began(StreamID("a"), in: opened.id))
        await registry.ended(end("a"), in: opened.id)
        let resumed = await registry.open(application, previous: opened.id, at: start) { _ in true }
        #expect(ends(resumed?.pendingUpdates) == [StreamID("a")])
    }

    @Test("a session is removed after an absence of three minutes") func absence() async throws {
        let registry = SessionRegistry()
        let opened = try #require(await registry.open(application, previous: nil, at: start) { _ in true })
        await registry.connectionLost(opened.id, connection: opened.connection, at: start)
        let late = await registry.open(application, previous: opened.id, at: start + .seconds(180)) { _ in true }
        #expect(late != nil && late?.id != opened.id)
        #expect(await registry.began(StreamID("a"), in: opened.id) == false)
    }

    @Test("streams of a session with a long absence are reported once to be ended") func expiry() async throws {
        let registry = SessionRegistry(absence: .seconds(10))
        let opened = try #require(await registry.open(application, previous: nil, at: start) { _ in true })
        let present = try #require(await registry.open(application, previous: nil, at: start) { _ in true })
        #expect(await registry.began(StreamID("a"), in: opened.id))
        await registry.connectionLost(opened.id, connection: opened.connection, at: start)
        await registry.connectionLost(opened.id, connection: opened.connection, at: start + .seconds(5))
        #expect(await registry.endAbsent(at: start + .seconds(9)).isEmpty)
        let expired = await registry.endAbsent(at: start + .seconds(10))
        #expect(expired.map(\.id) == [opened.id] && expired.first?.streams == [StreamID("a")])
        #expect(await registry.endAbsent(at: start + .seconds(11)).isEmpty)
        let counts = await registry.counts
        #expect(counts.all == 1 && counts.absent == 0)
        #expect(await registry.owns(StreamID("a"), present.id) == false)
    }

    @Test("a stream that lost its connection is reported each time, until it is set up again") func interruption()
        async throws
    {
        let registry = SessionRegistry()
        let known = SessionRecord(
            id: SessionID("known"), application: application, opened: WallTime(millisecondsSinceEpoch: 0))
        await registry.restore([known], interrupted: [known.id: [StreamID("a")]], at: start)
        for _ in 0..<2 {
            let resumed = try #require(
                await registry.open(application, previous: known.id, at: start) { _ in true })
            #expect(resumed.id == known.id)
            let received = resumed.pendingUpdates.compactMap { news in
                if case .interrupted(let stream) = news { stream } else { nil }
            }
            #expect(received == [StreamID("a")])
        }
        #expect(await registry.began(StreamID("a"), in: known.id))
        let again = await registry.open(application, previous: known.id, at: start) { _ in true }
        #expect(again?.pendingUpdates.isEmpty == true)
    }

    @Test("a session is resumed by its own application only") func applications() async throws {
        let registry = SessionRegistry()
        let opened = try #require(await registry.open(application, previous: nil, at: start) { _ in true })
        let other = await registry.open(ApplicationID("second"), previous: opened.id, at: start) { _ in true }
        #expect(other != nil && other?.id != opened.id)
    }

    @Test("a session with nothing but viewings that its client can continue elsewhere is moved if it accepts")
    func moved() async throws {
        let registry = SessionRegistry()
        let (accepting, refusing) = (Told(), Told(accepts: false))
        let movable = try #require(await registry.open(application, previous: nil, at: start) { accepting.deliver($0) })
        let member = try #require(await registry.open(application, previous: nil, at: start) { refusing.deliver($0) })
        let publishing = try #require(await registry.open(application, previous: nil, at: start) { _ in true })
        let idle = try #require(await registry.open(application, previous: nil, at: start) { _ in true })
        #expect(await registry.began(StreamID("a"), in: movable.id, canMove: true))
        #expect(await registry.began(StreamID("b"), in: member.id, canMove: true))
        #expect(await registry.began(StreamID("c"), in: publishing.id, canMove: true))
        #expect(await registry.began(StreamID("d"), in: publishing.id))
        let move = { (seconds: Int64) in
            await registry.move(
                since: start, atMost: 10, endingAfter: .seconds(3 as Int64), at: start + .seconds(seconds))
        }
        #expect(await move(0).isEmpty)
        #expect(accepting.moves == 1 && refusing.moves == 1)
        #expect(await registry.isMoving(movable.id))
        for session in [member, publishing, idle] { #expect(await registry.isMoving(session.id) == false) }
        await registry.connectionLost(movable.id, connection: movable.connection, at: start)
        #expect(await move(2).isEmpty)
        #expect(await move(3) == [StreamID("a")])
        let owner = SessionOwner(identity: "this machine")
        #expect(await registry.mayResume(movable.id, of: application, by: owner) == false)
        // Each session is requested once.
        #expect(accepting.moves == 1 && refusing.moves == 1)
        #expect(await registry.counts.all == 3)
    }

    @Test("a moved session whose client returns stays, and at most a number of sessions is moved at a time")
    func returned() async throws {
        let registry = SessionRegistry()
        let client = Told()
        var sessions: [SessionRegistry.Opened] = []
        for number in 0..<3 {
            let opened = try #require(await registry.open(application, previous: nil, at: start) { client.deliver($0) })
            #expect(await registry.began(StreamID("\(number)"), in: opened.id, canMove: true))
            sessions.append(opened)
        }
        let move = { (seconds: Int64) in
            await registry.move(
                since: start, atMost: 2, endingAfter: .seconds(3 as Int64), at: start + .seconds(seconds))
        }
        #expect(await move(0).isEmpty)
        #expect(client.moves == 2)
        #expect(await move(1).isEmpty)
        #expect(client.moves == 3)
        for session in sessions {
            await registry.connectionLost(session.id, connection: session.connection, at: start + .seconds(1))
            let resumed = await registry.open(application, previous: session.id, at: start + .seconds(2)) { _ in true }
            #expect(resumed?.id == session.id)
            #expect(await registry.isMoving(session.id) == false)
        }
        #expect(await move(9).isEmpty)
        #expect(await registry.counts.all == 3)
    }

    @Test("the end of a session returns its streams and removes it") func goodbye() async throws {
        let registry = SessionRegistry()
        let opened = try #require(await registry.open(application, previous: nil, at: start) { _ in true })
        #expect(await registry.began(StreamID("a"), in: opened.id))
        #expect(await registry.owns(StreamID("a"), opened.id))
        #expect(await registry.close(opened.id) == [StreamID("a")])
        #expect(await registry.owns(StreamID("a"), opened.id) == false)
        #expect(await registry.began(StreamID("b"), in: opened.id) == false)
    }
}
