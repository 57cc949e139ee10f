/// A value in memory of its own, at a place that may be empty: a noncopyable one, as Swift cannot yet look into an `Optional` of
/// such a value without taking it out; or a large one that most of those who could have it do not have.
///
/// Whoever holds it is the only one who does.
final class Held<Value: ~Copyable> {
    @exclusivity(unchecked) var value: Value

    init(_ value: consuming Value) { self.value = value }
}
