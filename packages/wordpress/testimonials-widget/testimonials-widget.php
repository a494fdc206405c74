<?php
/**
 * Plugin Name: Testimonials Widget
 * Description: Shows your testimonials, as a block and as the shortcode [testimonials_widget].
 * Version: 0.1.0
 * Requires at least: 5.8
 * Requires PHP: 7.4
 * License: MIT
 */

namespace TestimonialsWidget;

defined( 'ABSPATH' ) || exit;

const OPTION    = 'testimonials_widget_service';
const SELECTION = array( 'widget', 'shape', 'id', 'tag', 'min', 'theme' );

add_action( 'init', __NAMESPACE__ . '\register' );
add_action( 'admin_init', __NAMESPACE__ . '\register_settings' );

function register() {
	$type = register_block_type( __DIR__, array( 'render_callback' => __NAMESPACE__ . '\render_block' ) );
	$data = wp_json_encode( array( 'service' => get_service() ) );
	foreach ( $type->editor_script_handles ?? array( $type->editor_script ) as $handle ) {
		wp_add_inline_script( $handle, "window.testimonialsWidget = $data;", 'before' );
	}
	add_shortcode( 'testimonials_widget', __NAMESPACE__ . '\render_shortcode' );
}

/**
 * Only administrators choose whose script runs on the site; authors choose what it shows.
 */
function register_settings() {
	register_setting( 'general', OPTION, array( 'sanitize_callback' => __NAMESPACE__ . '\read_origin' ) );
	add_settings_field( OPTION, 'Testimonials service', __NAMESPACE__ . '\show_field', 'general', 'default', array( 'label_for' => OPTION ) );
}

function show_field() {
	printf(
		'<input type="url" class="regular-text code" id="%1$s" name="%1$s" value="%2$s" placeholder="https://testimonials.example.com"><p class="description">Where you manage your testimonials. Its script runs on your pages.</p>',
		esc_attr( OPTION ),
		esc_attr( get_service() )
	);
}

function get_service() {
	return (string) get_option( OPTION, '' );
}

/**
 * Returns the origin of an address; empty for what is none.
 */
function read_origin( $address ) {
	$found = preg_match( '#^https?://[a-z0-9.-]+(:\d{1,5})?(?=/|$)#i', trim( (string) $address ), $origin );
	return $found ? strtolower( $origin[0] ) : '';
}

function render_block( $attributes ) {
	$html = render( $attributes );
	return $html ? '<div ' . get_block_wrapper_attributes() . ">$html</div>" : '';
}

function render_shortcode( $attributes ) {
	$known = array_fill_keys( array_merge( array( 'project' ), SELECTION ), '' );
	return render( shortcode_atts( $known, $attributes, 'testimonials_widget' ) );
}

/**
 * Returns the widget's container, and puts its script on the page once.
 *
 * `project` is the project's id, or an address that has it, as "Add to your site" gives it.
 */
function render( $attributes ) {
	$service = get_service();
	$is_id   = preg_match( '/[0-9a-f]{24}/', (string) ( $attributes['project'] ?? '' ), $project );
	if ( ! $service || ! $is_id ) {
		return current_user_can( 'manage_options' ) ? '<p>Testimonials: the address of the service (Settings, General) or the project’s id is missing.</p>' : '';
	}
	$query = array();
	foreach ( SELECTION as $name ) {
		$value = wp_strip_all_tags( (string) ( $attributes[ $name ] ?? '' ), true );
		if ( '' !== $value ) {
			$query[ $name ] = $value;
		}
	}
	$page    = "$service/widget/{$project[0]}";
	$address = $query ? "$page?" . http_build_query( $query ) : $page;
	$html    = sprintf( '<div data-testimonials-project="%s"', esc_attr( $project[0] ) );
	foreach ( $query as $name => $value ) {
		$html .= sprintf( ' data-testimonials-%s="%s"', $name, esc_attr( $value ) );
	}
	$height = find_height( $service, $address );
	if ( $height ) {
		$width = preg_match( '/^(badge|people)/', $query['shape'] ?? '' ) ? '' : 'width:100%;';
		$html .= sprintf( ' style="%1$smin-height:%2$s;--tm-reserve:%2$s"', $width, esc_attr( $height ) );
	}
	wp_enqueue_script( 'testimonials-widget', "$service/widget/v1.js", array(), null, true );
	return $html . sprintf( '><a href="%s">%s</a></div>', esc_url( $address ), 'Read our testimonials' );
}

/**
 * Returns the height to keep free until the testimonials are there, as the service says; it is
 * asked once an hour, and a failure counts for as long.
 */
function find_height( $service, $address ) {
	$key    = 'testimonials_widget_' . md5( $address );
	$height = get_transient( $key );
	if ( false === $height ) {
		$answer = wp_remote_get( "$service/oembed?url=" . rawurlencode( $address ), array( 'timeout' => 2 ) );
		$data   = json_decode( wp_remote_retrieve_body( $answer ), true );
		$height = is_array( $data ) ? (string) ( $data['reserve'] ?? '' ) : '';
		$height = preg_match( '/^[0-9a-z ,.()-]{1,80}$/', $height ) ? $height : '';
		set_transient( $key, $height, HOUR_IN_SECONDS );
	}
	return $height;
}
