import PCastCore
import Testing

@testable import PCastBench

@Suite("The histogram of delays")
struct DelayHistogramTests {
    @Test(
        "a delay is reported as the end of its bucket, at most a sixteenth above it",
        arguments: [1, 2, 15, 16, 31, 32, 33, 63, 64, 100, 1_000, 1_023, 1_024, 5_000, 80_000, 1_000_000] as [Int64])
    func single(_ microseconds: Int64) throws {
        var histogram = DelayHistogram()
        histogram.add(.microseconds(microseconds))
        let received = try #require(histogram.percentile(0.5)) * 1_000
        #expect(received > Double(microseconds) && received <= Double(microseconds) * 17 / 16 + 0.001)
    }

    @Test("percentiles of many delays are reported, and those of several peers together")
    func many() throws {
        var (early, late) = (DelayHistogram(), DelayHistogram())
        for microseconds in 1...500 as ClosedRange<Int64> { early.add(.microseconds(microseconds)) }
        for microseconds in 501...1_000 as ClosedRange<Int64> { late.add(.microseconds(microseconds)) }
        early.add(late)
        #expect(early.count == 1_000)
        for share in [0.1, 0.5, 0.9, 0.99, 1] {
            let received = try #require(early.percentile(share))
            #expect(received >= share && received <= share * 17 / 16 + 0.001)
        }
    }

    @Test("delays above a second are in the last bucket, and an empty histogram reports nothing")
    func ends() throws {
        var histogram = DelayHistogram()
        #expect(histogram.percentile(0.5) == nil)
        histogram.add(.seconds(100))
        histogram.add(.zero)
        #expect(try #require(histogram.percentile(1)) > 1_000)
        #expect(try #require(histogram.percentile(0.5)) < 0.002)
    }
}
