import ArgumentParser
import PCastMedia

/// A change of a link's conditions at a time: `10s rate=800k`, `10s up down`, `14s down loss=5%`; without a direction,
/// of both.
struct LinkChangeArgument: ExpressibleByArgument, Sendable {
    let age: TimeSpan
    let isUp, isDown: Bool
    let conditions: LinkConditionsArgument

    init?(argument: String) {
        var words = argument.split(separator: " ").map(String.init)
        guard words.count >= 2, let age = MillisecondsArgument(argument: words.removeFirst())?.span else { return nil }
        self.age = age
        let direction = words.count == 2 ? words.removeFirst() : nil
        guard [nil, "up", "down"].contains(direction), words.count == 1,
            let conditions = LinkConditionsArgument(argument: words[0])
        else { return nil }
        isUp = direction != "down"
        isDown = direction != "up"
        self.conditions = conditions
    }
}
