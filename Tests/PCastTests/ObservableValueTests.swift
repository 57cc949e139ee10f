import PCastCompatibility
import PCastCore
import PCastRTP
import Testing

@testable import PCast

@Suite struct ObservableValueTests {
    @Test("a subscriber receives the value and then each change once")
    func subscriberReceivesChanges() async {
        let value = ObservableValue(1)
        var first = value.values.makeAsyncIterator()
        value.set(1)
        value.set(2)
        var second = value.values.makeAsyncIterator()
        value.set(2)
        value.set(3)
        #expect(value.value == 3)
        #expect([await first.next(), await first.next(), await first.next()] == [1, 2, 3])
        #expect([await second.next(), await second.next()] == [2, 3])
    }

    @Test("a subscription ends when it is released")
    func subscriptionLifetime() async {
        let value = ObservableValue("a")
        let (received, teller) = AsyncStream.makeStream(of: String.self)
        let (others, other) = AsyncStream.makeStream(of: String.self)
        var subscription: Disposable? = value.subscribe { teller.yield($0) }
        let kept = value.subscribe { other.yield($0) }
        var iterator = received.makeAsyncIterator()
        var otherIterator = others.makeAsyncIterator()
        #expect(await iterator.next() == "a")
        value.set("b")
        #expect(await iterator.next() == "b")
        subscription?.dispose()
        subscription = nil
        value.set("c")
        // The remaining subscriber was notified; the other one would have been notified before.
        #expect(
            [await otherIterator.next(), await otherIterator.next(), await otherIterator.next()] == ["a", "b", "c"])
        teller.finish()
        #expect(await iterator.next() == nil)
        kept.dispose()
    }

    @Test("the subscriptions finish when the observable value is released")
    func endWithValue() async {
        var value: ObservableValue<Int>? = ObservableValue(1)
        let values = value!.values
        value = nil
        var all: [Int] = []
        for await number in values { all.append(number) }
        #expect(all == [1])
    }

    @Test("the end of a stream is an observable value")
    func streamEnd() async {
        let lifecycle = StreamLifecycle(.viewer)
        var received = lifecycle.observableEndedInfo.values.makeAsyncIterator()
        #expect(await received.next() == .some(nil))
        lifecycle.streamEnded(reason: "capacity")
        lifecycle.streamEnded(reason: "censored")
        let info = StreamEndedInfo(ender: .platform, reason: .capacity, reasonDescription: "capacity")
        #expect(await received.next() == info)
        #expect(lifecycle.observableEndedInfo.value == info)
    }

    @Test("an end in the background has its own reason")
    func backgroundReason() async {
        let lifecycle = StreamLifecycle(.publisher)
        lifecycle.applicationWentToBackground()
        #expect(await lifecycle.ended.reason == .appBackground)
        #expect(await lifecycle.ended.ender == .stop)
    }
}
