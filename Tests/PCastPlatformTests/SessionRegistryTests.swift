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

        var streams: [StreamID] { ends.withLock { $0.map(\.streamID) } }

        func deliver(_ news: SessionRegistry.SessionUpdate) -> Bool {
            if case .ended(let end) = news { ends.withLock { $0.append(end) } }
            return true
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
