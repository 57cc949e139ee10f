import PCastCore
import PCastSFU
import Testing

@testable import PCastPlatform

/// The decisions about the stream of a channel, on virtual time.
@Suite struct ChannelStreamMachineTests {
    private typealias Machine = ChannelStreamMachine

    /// Presenters of which media arrive.
    private let a = ChannelStreamMachineTests.presenter("a", 1)
    private let b = ChannelStreamMachineTests.presenter("b", 2)
    /// The second presenter before its first key frame.
    private let waiting = ChannelStreamMachineTests.presenter("b", 2, isDecodable: false)

    private static func presenter(_ id: String, _ publisher: UInt64, isDecodable: Bool = true) -> Machine.Presenter {
        Machine.Presenter(stream: StreamID(id), publisher: PeerID(publisher), isDecodable: isDecodable)
    }

    private static func time(_ seconds: Int64) -> Instant { Instant(nanoseconds: 0) + .seconds(seconds) }

    /// Advances a machine. Returns its outputs.
    private static func advance(
        _ machine: inout Machine, to seconds: Int64, _ presenters: [Machine.Presenter], keeps: Bool = false,
        isViewed: Bool = true, isAwaited: Bool = false
    ) -> [Machine.Output] {
        machine.advance(
            to: time(seconds),
            Machine.Observations(
                presenters: presenters, keepsPresenter: keeps, isViewed: isViewed, isAwaited: isAwaited))
        return machine.takeOutputs()
    }

    @Test("a stream begins with its first viewer and the preferred presenter, also before media arrive")
    func beginning() {
        var machine = Machine()
        #expect(Self.advance(&machine, to: 0, [a], isViewed: false).isEmpty)
        #expect(Self.advance(&machine, to: 1, []).isEmpty)
        #expect(Self.advance(&machine, to: 2, [waiting]) == [.open(like: waiting), .select(waiting)])
        #expect(Self.advance(&machine, to: 3, [b]).isEmpty)
        #expect(machine.isOpen && machine.selected?.stream == b.stream)
        var other = Machine()
        #expect(Self.advance(&other, to: 0, [waiting, a]) == [.open(like: a), .select(a)])
    }

    @Test("a stream that is awaited begins without a presenter, whom it follows, and waits for an hour")
    func awaited() {
        var machine = Machine()
        #expect(Self.advance(&machine, to: 0, [], isAwaited: true) == [.open(like: nil)])
        #expect(machine.isOpen && machine.selected == nil)
        // Later viewers find it.
        #expect(Self.advance(&machine, to: 1, []).isEmpty)
        #expect(Self.advance(&machine, to: 2, [waiting]) == [.select(waiting)])
        #expect(Self.advance(&machine, to: 3, []).isEmpty)
        #expect(Self.advance(&machine, to: 4, []) == [.deselect])
        #expect(Self.advance(&machine, to: 3_603, []) == [.close])
        // Its viewers connect again at once.
        #expect(Self.advance(&machine, to: 3_603, [], isAwaited: true) == [.open(like: nil)])
        #expect(Self.advance(&machine, to: 3_604, []).isEmpty && machine.isOpen)
        #expect(Self.advance(&machine, to: 7_203, []) == [.close])
        // A failure is not repeated at once.
        var other = Machine()
        _ = Self.advance(&other, to: 0, [], isAwaited: true)
        other.closed(at: Self.time(0))
        #expect(Self.advance(&other, to: 0, [], isAwaited: true).isEmpty)
        #expect(Self.advance(&other, to: 1, [], isAwaited: true) == [.open(like: nil)])
        // A presenter who is there has tracks that are known.
        var third = Machine()
        #expect(Self.advance(&third, to: 0, [a], isAwaited: true) == [.open(like: a), .select(a)])
    }

    @Test("the preferred presenter is selected as soon as its media arrive, and otherwise the next one")
    func mostRecent() {
        var machine = Machine()
        _ = Self.advance(&machine, to: 0, [a])
        #expect(Self.advance(&machine, to: 1, [waiting, a]).isEmpty)
        #expect(Self.advance(&machine, to: 2, [b, a]) == [.select(b)])
        #expect(Self.advance(&machine, to: 3, [a, b]) == [.select(a)])
        // The present one has left. The other one follows, also before its media arrive.
        #expect(Self.advance(&machine, to: 4, [waiting]) == [.deselect, .select(waiting)])
    }

    @Test("with high availability, the selected presenter stays while its media are available")
    func highAvailability() {
        var machine = Machine()
        _ = Self.advance(&machine, to: 0, [a], keeps: true)
        #expect(Self.advance(&machine, to: 1, [b, a], keeps: true).isEmpty)
        #expect(Self.advance(&machine, to: 2, [b], keeps: true) == [.select(b)])
        #expect(Self.advance(&machine, to: 3, [a, b], keeps: true).isEmpty)
        #expect(Self.advance(&machine, to: 4, [a, waiting], keeps: true) == [.select(a)])
    }

    @Test("a presenter that has reconnected is selected again, and one that returns after a gap, too")
    func returning() {
        var machine = Machine()
        _ = Self.advance(&machine, to: 0, [a])
        let again = Self.presenter("a", 7)
        #expect(Self.advance(&machine, to: 1, [again]) == [.select(again)])
        #expect(Self.advance(&machine, to: 2, []).isEmpty)
        // A presenter that returns at once was not missed.
        #expect(Self.advance(&machine, to: 3, [again]).isEmpty)
        #expect(Self.advance(&machine, to: 4, []).isEmpty)
        #expect(Self.advance(&machine, to: 5, []) == [.deselect])
        #expect(Self.advance(&machine, to: 6, []).isEmpty)
        #expect(Self.advance(&machine, to: 7, [again]) == [.select(again)])
        #expect(Self.advance(&machine, to: 8, [b]) == [.select(b)])
        #expect(machine.isOpen)
    }

    @Test("a stream ends after a time without viewers, after an hour without presenters, and with its channel")
    func ending() {
        var machine = Machine()
        _ = Self.advance(&machine, to: 0, [a])
        #expect(Self.advance(&machine, to: 10, [a], isViewed: false).isEmpty)
        #expect(Self.advance(&machine, to: 39, [a], isViewed: false).isEmpty)
        // A viewer came back.
        #expect(Self.advance(&machine, to: 40, [a]).isEmpty)
        #expect(Self.advance(&machine, to: 41, [a], isViewed: false).isEmpty)
        #expect(Self.advance(&machine, to: 71, [a], isViewed: false) == [.close])
        #expect(Self.advance(&machine, to: 72, [a]) == [.open(like: a), .select(a)])
        #expect(Self.advance(&machine, to: 100, []).isEmpty)
        #expect(Self.advance(&machine, to: 3_699, []) == [.deselect])
        #expect(Self.advance(&machine, to: 3_700, []) == [.close])
        _ = Self.advance(&machine, to: 3_701, [a])
        machine.end()
        #expect(machine.takeOutputs() == [.close])
        machine.end()
        #expect(machine.takeOutputs().isEmpty && !machine.isOpen)
    }

    @Test("after a failure, the stream or the presenter is tried again a second later")
    func failures() {
        var machine = Machine()
        _ = Self.advance(&machine, to: 0, [a])
        machine.closed(at: Self.time(0))
        #expect(!machine.isOpen && !machine.isIdle(at: Self.time(0)) && machine.isIdle(at: Self.time(1)))
        #expect(Self.advance(&machine, to: 0, [a]).isEmpty)
        #expect(Self.advance(&machine, to: 1, [a]) == [.open(like: a), .select(a)])
        machine.selectionFailed(at: Self.time(1))
        // The media of a former presenter end, which may leave meanwhile.
        #expect(Self.advance(&machine, to: 1, [a]) == [.deselect])
        #expect(Self.advance(&machine, to: 2, [a]) == [.select(a)])
        // Tracks that do not fit need another stream, at once.
        machine.reopens()
        #expect(Self.advance(&machine, to: 3, [b]) == [.open(like: b), .select(b)])
    }
}
