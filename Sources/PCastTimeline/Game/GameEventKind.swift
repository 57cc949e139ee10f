/// What happened, by the feed's own word: any text.
///
/// The words of the schemas, which are of ice hockey, have names here. A feed of another sport has its own, such as
/// `three_pointer` or `wicket`.
public struct GameEventKind: TimelineWord {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public static let periodStart = GameEventKind(rawValue: "period_start")
    public static let periodEnd = GameEventKind(rawValue: "period_end")
    public static let overtimeStart = GameEventKind(rawValue: "overtime_start")
    public static let overtimeEnd = GameEventKind(rawValue: "overtime_end")
    public static let shootoutStart = GameEventKind(rawValue: "shootout_start")
    public static let shootoutEnd = GameEventKind(rawValue: "shootout_end")
    public static let breakStart = GameEventKind(rawValue: "break_start")
    public static let breakEnd = GameEventKind(rawValue: "break_end")
    public static let goal = GameEventKind(rawValue: "goal")
    public static let penalty = GameEventKind(rawValue: "penalty")
    public static let penaltyShot = GameEventKind(rawValue: "penalty_shot")

    public static let known = [
        periodStart, periodEnd, overtimeStart, overtimeEnd, shootoutStart, shootoutEnd, breakStart, breakEnd, goal,
        penalty, penaltyShot,
    ]
}
