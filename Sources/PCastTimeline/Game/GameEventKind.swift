/// The type of an event by its name in the feed, which is any text.
///
/// The names in the schema, which are of ice hockey, are constants here. A feed of another sport has its own names,
/// e.g. `three_pointer` or `wicket`.
public struct GameEventKind: SchemaString {
    /// The name of the type in the feed.
    public let rawValue: String

    /// Creates a type from its name in the feed.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The start of a period.
    public static let periodStart = GameEventKind(rawValue: "period_start")
    /// The end of a period.
    public static let periodEnd = GameEventKind(rawValue: "period_end")
    /// The start of overtime.
    public static let overtimeStart = GameEventKind(rawValue: "overtime_start")
    /// The end of overtime.
    public static let overtimeEnd = GameEventKind(rawValue: "overtime_end")
    /// The start of a shootout.
    public static let shootoutStart = GameEventKind(rawValue: "shootout_start")
    /// The end of a shootout.
    public static let shootoutEnd = GameEventKind(rawValue: "shootout_end")
    /// The start of a break.
    public static let breakStart = GameEventKind(rawValue: "break_start")
    /// The end of a break.
    public static let breakEnd = GameEventKind(rawValue: "break_end")
    /// A goal.
    public static let goal = GameEventKind(rawValue: "goal")
    /// A penalty.
    public static let penalty = GameEventKind(rawValue: "penalty")
    /// A penalty shot.
    public static let penaltyShot = GameEventKind(rawValue: "penalty_shot")

    /// The types in the schema.
    public static let known = [
        periodStart, periodEnd, overtimeStart, overtimeEnd, shootoutStart, shootoutEnd, breakStart, breakEnd, goal,
        penalty, penaltyShot,
    ]
}
