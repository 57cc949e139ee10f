import Testing

@testable import PCastBench

@Suite struct JoinTests {
    @Test("the round trips of a join are what it takes longer at a distance of 50 ms")
    func roundTrips() throws {
        #expect(JoinCommand.roundTrips(near: 10, far: 210) == 4)
        #expect(JoinCommand.roundTrips(near: 30, far: 180) == 3)
        #expect(JoinCommand.roundTrips(near: nil, far: 210) == nil)
        #expect(JoinCommand.roundTrips(near: 10, far: nil) == nil)
    }
}
