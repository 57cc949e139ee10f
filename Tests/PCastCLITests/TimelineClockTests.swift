import Foundation
import Testing

@testable import PCastCLI

@Suite("The clock of a producer")
struct TimelineClockTests {
    private func result(difference: String, roundTrip: Double) throws -> TimelineProducer.PostResult {
        let text = #"{"status":"ok","change":"added","seq":1,"log":"a"\#(difference)}"#
        var result = try JSONDecoder().decode(TimelineProducer.PostResult.self, from: Data(text.utf8))
        result.roundTrip = roundTrip
        return result
    }

    @Test("a warning says how far the clock is ahead or behind, if the time of the request does not explain it")
    func warnings() throws {
        #expect(try result(difference: "", roundTrip: 1).clockWarning == nil)
        #expect(try result(difference: #","clockDifference":200"#, roundTrip: 5_000).clockWarning == nil)
        #expect(try result(difference: #","clockDifference":-350"#, roundTrip: 151).clockWarning == nil)
        let ahead = try #require(try result(difference: #","clockDifference":1234"#, roundTrip: 5_000).clockWarning)
        #expect(ahead.contains("1.23 s ahead"))
        let behind = try #require(try result(difference: #","clockDifference":-350"#, roundTrip: 149).clockWarning)
        #expect(behind.contains("0.35 s behind"))
    }
}
