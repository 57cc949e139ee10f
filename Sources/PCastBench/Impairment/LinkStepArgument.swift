import ArgumentParser

/// A change of a link's conditions on a command line: `rate=800k`, `up down`, `down loss=5%`. Without a direction, it
/// applies to both.
struct LinkStepArgument: ExpressibleByArgument, Sendable {
    let isUp, isDown: Bool
    let conditions: LinkConditionsArgument

    init?(argument: String) {
        var words = argument.split(separator: " ").map(String.init)
        let direction = words.count == 2 ? words.removeFirst() : nil
        guard [nil, "up", "down"].contains(direction), words.count == 1,
            let conditions = LinkConditionsArgument(argument: words[0])
        else { return nil }
        isUp = direction != "down"
        isDown = direction != "up"
        self.conditions = conditions
    }
}
