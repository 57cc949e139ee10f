import ArgumentParser
import PCastCore

/// A timed change of a link's conditions on a command line: `10s rate=800k`, `10s up down`, `14s down loss=5%`.
struct LinkChangeArgument: ExpressibleByArgument, Sendable {
    let age: TimeSpan
    let step: LinkStepArgument

    init?(argument: String) {
        let halves = argument.split(separator: " ", maxSplits: 1).map(String.init)
        guard halves.count == 2, let age = MillisecondsArgument(argument: halves[0])?.span,
            let step = LinkStepArgument(argument: halves[1])
        else { return nil }
        self.age = age
        self.step = step
    }
}
