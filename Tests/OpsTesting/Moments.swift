import OpsCore

extension Moment {
    /// The moment at which simulations begin.
    static let firstOfSimulations = Moment(monotonic: .seconds(1000), wall: .seconds(1_700_000_000))
}

extension ClockInstant {
    /// Makes an instant of full seconds since the origin of its clock.
    static func seconds(_ count: Int64) -> Self { .zero + .seconds(count) }
}
